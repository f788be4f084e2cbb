"""The index of the history: filled behind the log, made anew, without text, and erased."""

from __future__ import annotations

import threading
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from checkpoints import store
from checkpoints.queries.history import passages, texts
from checkpoints.queries.history.passages import Passage, Scope
from checkpoints.states import EventKind
from checkpoints.store import NewEvent
from tests.unit.checkpoints.builders import (
    drive,
    effect,
    make_agent,
    make_thread,
    make_workspace,
    one,
    rows,
)

pytestmark = [pytest.mark.usefixtures("real_db"), pytest.mark.requirement("B40")]


def search(words: str, workspace: UUID, **scope: Any) -> list[Passage]:
    result = passages.find(words.split(), Scope(workspace, **scope), limit=20)
    assert result.complete
    return list(result.passages)


def thought(text: str) -> NewEvent:
    return NewEvent(EventKind.THOUGHT_RECORDED, {"node": "work", "text": text}, "worker:1")


def fill() -> int:
    total = 0
    while n := store.index_history():
        total += n
    return total


def in_index(thread: UUID) -> int:
    return int(one("SELECT count(*) FROM gp_indexed_event WHERE thread_id = %s", (thread,)))


def test_what_a_thread_tells_is_found_by_its_words() -> None:
    workspace = make_workspace()
    thread = make_thread(workspace=workspace, input={"goal": "Compare carriers of Hamburg"})
    driver = drive(thread)
    driver.step({"append": {"log": ["Nordwind was late by 12 days"]}}, events=[thought("Zebras")])
    effect(driver.work, "bank.pay#1")
    assert fill() >= 5
    for words, kind in (
        ("carrier hamburg", "thread.started"),
        ("nordwind late", "checkpoint.committed"),
        ("zebra", "thought.recorded"),
        ("pay", "effect.finished"),
        ("bank.pay", "effect.finished"),
    ):
        kinds = [passage.kind for passage in search(words, workspace)]
        assert kind in kinds, (words, kinds)
    assert search("zebra", make_workspace()) == []
    assert search("zebra", workspace, agent="another") == []
    assert [p.thread for p in search("zebra", workspace, thread=thread)] == [thread]


def test_an_event_is_found_before_it_is_in_the_index_and_once_it_is() -> None:
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    fill()
    driver = drive(thread)
    driver.step(events=[thought("quokka")])
    assert in_index(thread) < len(rows("SELECT 1 FROM gp_event WHERE thread_id = %s", (thread,)))
    assert [p.kind for p in search("quokka", workspace)] == ["thought.recorded"]
    fill()
    assert [p.kind for p in search("quokka", workspace)] == ["thought.recorded"]


def test_an_event_that_cannot_be_read_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    drive(thread).step(
        {"append": {"log": ["one"]}}, events=[thought("Zebras"), thought("Giraffes")]
    )
    read = texts.statement

    def hostile(data: Any) -> Any:
        if data.get("text") == "Zebras":
            raise KeyError("a form that nobody foresaw")
        return read(data)

    with monkeypatch.context() as patched:
        patched.setattr(texts, "statement", hostile)
        fill()
    assert search("zebra", workspace) == []
    assert [p.kind for p in search("giraffe", workspace)] == ["thought.recorded"]


def test_it_waits_for_older_transactions_and_leaves_out_nothing() -> None:
    workspace = make_workspace()
    thread, other = make_thread(workspace=workspace), make_thread(workspace=workspace)
    fill()
    first, second = threading.Event(), threading.Event()

    def commit_late() -> None:
        try:
            with transaction.atomic():
                drive(thread).step(events=[thought("slow loris")])
                first.set()
                second.wait(20)
        finally:
            connection.close()

    late = threading.Thread(target=commit_late)
    late.start()
    assert first.wait(20)
    drive(other).step(events=[thought("quick hare")])
    fill()
    assert in_index(other) <= 1  # what is newer than an open transaction is left for later
    second.set()
    late.join(20)
    fill()
    for words, of in (("loris", thread), ("hare", other)):
        assert [p.thread for p in search(words, workspace)] == [of]
        n = len(rows("SELECT 1 FROM gp_event WHERE thread_id = %s", (of,)))
        assert in_index(of) == n


def test_it_is_made_anew_and_the_same() -> None:
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    drive(thread, 3).step(events=[thought("one more")])
    fill()
    query = "SELECT seq, kind, agent, words FROM gp_indexed_event WHERE thread_id = %s ORDER BY seq"
    before = rows(query, (thread,))
    rows("UPDATE gp_indexed_event SET words = '{1}' WHERE thread_id = %s", (thread,))
    assert search("one more", workspace) == []
    store.rebuild_index()
    assert in_index(thread) == 0
    fill()
    assert rows(query, (thread,)) == before
    assert store.index_history() == 0


def test_a_search_is_of_one_moment() -> None:
    """The index is emptied between two reads of a search: what it had is found."""
    workspace = make_workspace()
    drive(make_thread(workspace=workspace)).step(events=[thought("slow loris")])
    fill()
    emptied: list[str] = []

    def elsewhere() -> None:
        try:
            store.rebuild_index()
        finally:
            connection.close()

    def empty(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "AS score" in sql and not emptied:
            emptied.append(sql)
            other = threading.Thread(target=elsewhere)
            other.start()
            other.join(20)
            assert not other.is_alive()
        return execute(sql, params, many, context)

    with connection.execute_wrapper(empty):
        assert [p.kind for p in search("loris", workspace)] == ["thought.recorded"]
    assert emptied
    assert one("SELECT count(*) FROM gp_indexed_event") == 0


def test_a_batch_takes_so_many_statements_whatever_its_length() -> None:
    for _ in range(4):
        drive(make_thread(), 20)

    def statements(batch: int) -> tuple[list[str], int]:
        store.rebuild_index()
        with CaptureQueriesContext(connection) as sent:
            while store.index_history(batch=batch):
                pass
        texts = [query["sql"] for query in sent]
        return texts, sum("INSERT INTO gp_indexed_event" in sql for sql in texts)

    for batch in (20, 200):
        texts, batches = statements(batch)
        total = one("SELECT count(*) FROM gp_indexed_event")
        assert batches == -(-total // batch)
        assert len(texts) <= 9 * (batches + 2)
        # Of full batches words wait in the index for more of them; the last one places them.
        assert sum("gin_pending_list_limit" in sql for sql in texts) == total // batch


def test_the_index_has_no_text_and_nothing_of_encrypted_channels() -> None:
    workspace = make_workspace()
    channels = {
        "goal": {"reducer": "last_value", "default": ""},
        "diagnosis": {"reducer": "last_value", "encrypted": ["auditor"]},
    }
    agent = make_agent("clinic", channels=channels)
    thread = make_thread(
        workspace=workspace,
        agent=agent,
        input={"goal": "See Xantippe", "diagnosis": "measles"},
    )
    stored = one("SELECT delta::text FROM gp_checkpoint WHERE thread_id = %s", (thread,))
    assert "$encrypted" in stored
    assert "measles" not in stored
    fill()
    (passage,) = [p for p in search("xantippe", workspace) if p.kind == "thread.started"]
    assert "Xantippe" in passage.words
    assert "ch1." not in passage.words
    assert "measles" not in passage.words
    text = one("SELECT string_agg(t::text, ' ') FROM gp_indexed_event t")
    assert "antippe" not in text.lower()


def test_who_adds_words_and_who_erases_wait_for_each_other() -> None:
    """Words that were read before an erasure are gone after it."""
    thread = make_thread()
    drive(thread, 1)
    store.rebuild_index()
    erased: list[Any] = []

    def erase() -> None:
        try:
            erased.extend(rows("SELECT n_rows FROM gp_erase_index(%s)", (thread,)))
        finally:
            connection.close()

    eraser = threading.Thread(target=erase)
    with transaction.atomic():
        while store.index_history():
            pass
        eraser.start()
        eraser.join(0.5)
        assert eraser.is_alive()  # it waits until the words are there
    eraser.join(20)
    assert erased[0][0] >= 3
    assert in_index(thread) == 0


def test_a_step_writes_nothing_for_it() -> None:
    thread = make_thread()
    fill()
    before = in_index(thread)
    drive(thread, 5)
    assert in_index(thread) == before


def test_two_that_fill_it_at_once_add_each_event_once() -> None:
    thread = make_thread()
    drive(thread, 30)
    store.rebuild_index()
    barrier = threading.Barrier(3)
    counts: list[int] = []

    def add() -> None:
        try:
            barrier.wait(20)
            while n := store.index_history(batch=5):
                counts.append(n)
        finally:
            connection.close()

    threads = [threading.Thread(target=add) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    fill()
    n = len(rows("SELECT 1 FROM gp_event WHERE thread_id = %s", (thread,)))
    assert in_index(thread) == n >= 30
    assert counts

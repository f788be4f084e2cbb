"""The contract of the stores: a thread with large values is the same thread on each of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.files.storage import default_storage

from approvals.verification.proof import verify
from checkpoints import payloads, queries
from checkpoints.errors import ContentAway, CorruptHistory
from checkpoints.hot.appends import Appends
from checkpoints.states import EventKind, Status
from tests.unit.checkpoints.builders import expire, rows
from tests.unit.workers.conftest import Bench, bench_of
from workers.authoring.errors import GraphError
from workers.code.registry import fingerprint_of

from . import agents
from .agents import LARGE, text_of
from .conftest import STORES, Storage

pytestmark = [pytest.mark.requirement("B12"), pytest.mark.requirement("B15")]

SMALL_DELTA = 1_000


def at_the_gate(storage: Storage, folder: Path, **more: Any) -> UUID:
    thread = storage.bench.start(folder=str(folder), **more)
    assert storage.bench.advance(thread).status is Status.WAITING
    return thread


def states(storage: Storage, thread: UUID) -> dict[int, dict[str, Any]]:
    """The state at each of the thread's own checkpoints, by number."""
    bench = storage.bench
    return {c.number: bench.state_at(thread, c.id) for c in bench.checkpoints(thread)}


def sha_of(value: Any) -> str:
    return sha256(json.dumps(value).encode()).hexdigest()


def test_each_step_has_its_state_and_the_history_holds(storage: Storage, tmp_path: Path) -> None:
    thread = at_the_gate(storage, tmp_path)
    for number, state in states(storage, thread).items():
        assert state["done"] == number
        assert state["text"] == (text_of(number - 1) if number else "")
        assert state["pages"] == [f"page {i}" for i in range(number)]
        assert state["index"] == {f"page {i}": i for i in range(number)}
    assert storage.bench.intact(thread)


def test_a_large_value_lies_there_once_under_its_hash(storage: Storage, tmp_path: Path) -> None:
    thread = at_the_gate(storage, tmp_path, rounds=6)
    texts = {sha_of(text_of(i)): len(json.dumps(text_of(i))) for i in range(2)}
    assert storage.lies(thread) == texts, "six steps wrote two texts"
    for row in storage.bench.checkpoints(thread):
        delta = storage.bench.checkpoint(thread, row.number).delta
        assert len(json.dumps(delta)) < SMALL_DELTA
        assert ("text" in delta.get("put", {})) == (row.number > 0)
        assert row.state_bytes > (LARGE if row.number else 0), "the size told is the true one"


def test_gate_pause_and_resume(storage: Storage, tmp_path: Path) -> None:
    bench, thread = storage.bench, at_the_gate(storage, tmp_path)
    bench.pause(thread)
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    bench.decide(thread, "approve", "fine")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert agents.calls.count("print_book") == 1
    assert agents.calls.count("look_up") == 4
    assert bench.state(thread)["printed"] == "4 pages"
    assert bench.state(thread)["text"] == text_of(3)
    assert bench.intact(thread)


def test_a_fork_shares_what_its_base_has_and_adds_its_own(storage: Storage, tmp_path: Path) -> None:
    bench, base = storage.bench, at_the_gate(storage, tmp_path)
    before, lay = states(storage, base), storage.lies(base)
    same = bench.fork(base, 2, {})
    assert bench.state(same) == before[2]
    assert storage.lies(same) == {}, "nothing is copied"
    other = bench.fork(same, 0, {"text": "x" * LARGE, "rounds": 3})
    assert bench.state(other) == {**before[2], "text": "x" * LARGE, "rounds": 3}
    assert list(storage.lies(other)) == [sha_of("x" * LARGE)]
    assert bench.advance(other).status is Status.WAITING
    assert bench.state(other)["text"] == text_of(2)
    assert bench.state(other)["pages"] == ["page 0", "page 1", "page 2"]
    assert (states(storage, base), storage.lies(base)) == (before, lay)
    assert all(bench.intact(one) for one in (base, same, other))


def test_a_rollback_gives_the_state_back_and_undoes(storage: Storage, tmp_path: Path) -> None:
    bench, thread = storage.bench, at_the_gate(storage, tmp_path)
    bench.decide(thread, "approve")
    assert bench.advance(thread).status is Status.SUCCEEDED
    before, lay = states(storage, thread), storage.lies(thread)
    row = bench.roll_back(thread, 1)
    assert row.status is Status.PAUSED
    assert bench.state(thread) == before[1]
    assert storage.lies(thread) == lay
    assert agents.calls.count("take_back") == 1
    assert not (tmp_path / "printed.txt").exists()
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert bench.state(thread) == {**before[4], "printed": ""}
    assert bench.intact(thread)


def test_an_edit_with_a_large_value(storage: Storage, tmp_path: Path) -> None:
    bench, thread = storage.bench, at_the_gate(storage, tmp_path)
    before = bench.state(thread)
    bench.edit(thread, {"text": "y" * LARGE}, "better")
    assert bench.state(thread) == {**before, "text": "y" * LARGE}
    assert sha_of("y" * LARGE) in storage.lies(thread)
    assert bench.intact(thread)


def test_what_is_added_to_a_large_value_of_the_input(storage: Storage, tmp_path: Path) -> None:
    pages, index = ["p" * LARGE, "q"], {"p": "r" * LARGE, "q": 7}
    thread = at_the_gate(storage, tmp_path, pages=pages, index=index)
    assert storage.lies(thread).keys() >= {
        sha256(json.dumps(v, separators=(",", ":")).encode()).hexdigest() for v in (pages, index)
    }
    state = storage.bench.state(thread)
    assert state["pages"] == [*pages, *(f"page {i}" for i in range(4))]
    assert state["index"] == index | {f"page {i}": i for i in range(4)}
    assert states(storage, thread)[0]["pages"] == pages
    assert storage.bench.intact(thread)


@pytest.mark.parametrize("how", ["lost", "altered"])
def test_a_checkpoint_without_its_content_is_corrupt_and_the_one_before_is_used(
    storage: Storage, tmp_path: Path, how: str
) -> None:
    bench, thread = storage.bench, at_the_gate(storage, tmp_path)
    bench.edit(thread, {"text": "z" * LARGE}, "the only one to name it")
    calls = list(agents.calls)
    storage.spoil(
        thread,
        sha_of("z" * LARGE),
        lambda raw: raw.replace(b"zzz", b"zzy", 1) if how == "altered" else None,
    )
    with pytest.raises(CorruptHistory, match="missing" if how == "lost" else "does not match"):
        bench.state(thread)
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    (skipped,) = [e for e in bench.events(thread) if e.kind == EventKind.CHECKPOINT_SKIPPED]
    assert (skipped.data["from"], skipped.data["to"]) == (5, 4)
    assert bench.state(thread)["text"] == text_of(3)
    bench.decide(thread, "approve")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert agents.calls == [*calls, "print_book"], "nothing recorded was called again"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["altered", "grown", "lost"])
@pytest.mark.parametrize("kind", STORES[1:])
def test_verifying_names_the_event_that_leads_to_a_spoilt_content(
    storage_of: Callable[[str], Storage], tmp_path: Path, kind: str, how: str
) -> None:
    storage = storage_of(kind)
    thread = at_the_gate(storage, tmp_path)
    storage.bench.edit(thread, {"text": "z" * LARGE}, "the only one to name it")
    (edited,) = (
        e.seq
        for e in storage.bench.events(thread)
        if e.kind == EventKind.CHECKPOINT_COMMITTED and e.data["number"] == 5
    )
    assert verify(thread).intact
    change = {"altered": b'"zzzy', "grown": b'"zzzzz', "lost": None}[how]
    storage.spoil(
        thread,
        sha_of("z" * LARGE),
        lambda raw: None if change is None else raw.replace(b'"zzzz', change, 1),
    )
    report = verify(thread)
    assert (report.ident, report.intact, report.first_broken_seq) == (thread, False, edited)
    assert "checkpoint 5 is not whole" in report.what


def test_a_value_never_becomes_a_reference(storage: Storage, tmp_path: Path) -> None:
    payload: dict[str, Any] = {"sha256": "0" * 64, "size": 3}
    index = {"put": {"text": payload}, "$content": payload["sha256"]}
    thread = storage.bench.start(folder=str(tmp_path), index=index, rounds=0, text='{"put":{}}')
    storage.bench.pause(thread)
    storage.bench.edit(thread, {"index": payload}, "as odd")
    assert storage.bench.state(thread)["index"] == payload
    assert states(storage, thread)[0]["index"] == index
    assert states(storage, thread)[0]["text"] == '{"put":{}}'
    assert storage.lies(thread) == {}


def test_the_same_thread_on_each_store(storage: Storage, tmp_path: Path) -> None:
    """Kinds of events and deltas do not tell where content lies."""
    thread = at_the_gate(storage, tmp_path)
    deltas = [storage.bench.checkpoint(thread, n).delta for n in range(5)]
    put = {"sha256": sha_of(text_of(0)), "size": len(text_of(0)) + 2}
    assert deltas[1] == {
        "append": {"pages": ["page 0"]},
        "merge": {"index": {"page 0": 0}},
        "put": {"text": put},
        "set": {"done": 1},
    }
    assert deltas[3]["put"] == {"text": put}


def test_steps_of_the_hot_store_wait_there_and_are_the_same_steps(
    storage_of: Callable[[str], Storage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    appended: list[bytes] = []
    append = Appends.append

    def noted(self: Appends, entries: Sequence[bytes]) -> None:
        appended.extend(entries)
        append(self, entries)

    monkeypatch.setattr(Appends, "append", noted)
    hot, database = storage_of("hot"), storage_of("database")
    threads = [at_the_gate(one, tmp_path, rounds=6) for one in (hot, database)]
    assert len(appended) == 6, "each round is a step that only moves the state on"
    assert max(map(len, appended)) > LARGE, "the large value waits with its step"
    assert states(hot, threads[0]) == states(database, threads[1])
    assert hot.lies(threads[0]) == database.lies(threads[1])
    assert [c.state_hash for c in hot.bench.checkpoints(threads[0])] == [
        c.state_hash for c in database.bench.checkpoints(threads[1])
    ]


def test_a_storage_that_is_away_is_no_damage(
    storage_of: Callable[[str], Storage], tmp_path: Path, settings: Any
) -> None:
    settings.GATEPOST_LEASE_SECONDS = 1  # a server younger than a lease lets nobody take over
    bench = (storage := storage_of("file")).bench
    thread = at_the_gate(storage, tmp_path)
    bench.decide(thread, "approve")
    contents = Path(default_storage.path(f"threads/{thread}/contents"))
    one = contents / f"{sha_of(text_of(3))}.json"
    for taken, message in ((contents.parents[1], "is its drive mounted?"), (one, "directory")):
        taken.rename(tmp_path / "taken")
        if taken == one:
            one.mkdir()  # what cannot be read as a file
        with pytest.raises(ContentAway, match=message):
            bench.state(thread)
        with pytest.raises(ContentAway, match=message):
            bench.advance(thread)
        assert bench.row(thread).number == 4, "it is not taken back"
        if taken == one:
            one.rmdir()
        (tmp_path / "taken").rename(taken)
        expire(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.intact(thread)


def test_the_choice_is_announced_and_part_of_the_version(db: None) -> None:
    for kind in ("database", "file"):
        version = bench_of(agents.module_of(kind)).agent.version_id
        assert queries.agent_version(version).graph.get("payloads", "database") == kind
        assert payloads.kind_of(version) == kind
    module = agents.module_of("file")
    other = replace(module.graph, payloads="database")
    assert fingerprint_of(module.graph, [module]) != fingerprint_of(other, [module])
    with pytest.raises(GraphError, match="no store 'cloud' for payloads; there are database, file"):
        agents.module_of("cloud")


def test_an_agent_may_choose_otherwise_and_keeps_what_it_has(
    storage_of: Callable[[str], Storage], tmp_path: Path
) -> None:
    storage = storage_of("file")
    bench, thread = storage.bench, at_the_gate(storage, tmp_path)
    assert isinstance(bench, Bench)
    there = replace(agents.graph, name="books-file", on_code_change="go_on")
    bench.install(there, agents.TOOLS, agents.module_of("database"))
    bench.edit(thread, {"rounds": 6, "text": "v" * LARGE}, "two more")
    bench.roll_back(thread, 3)
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert bench.state(thread)["done"] == 4
    lies = rows("SELECT sha256 FROM gp_content WHERE thread_id = %s", [thread])
    assert lies == [(sha_of(text_of(3)),)], "the edit was written by the former version"
    assert sha_of("v" * LARGE) in storage.lies(thread)
    assert bench.intact(thread)


def test_settings_move_the_limit(db: None, tmp_path: Path, settings: Any) -> None:
    settings.GATEPOST_CONTENT_DATABASE_BYTES = 2_000
    bench = bench_of(agents.module_of("database"))
    thread = bench.start(folder=str(tmp_path), text="u" * 1_998)
    assert "put" in bench.checkpoint(thread, 0).delta
    other = bench.start(folder=str(tmp_path), text="u" * 1_997)
    assert "put" not in bench.checkpoint(other, 0).delta

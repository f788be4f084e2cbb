"""Utterances become events: once each, in order, whatever is lost between buffer and log."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
import redis

from checkpoints import queries, store
from checkpoints.hot import utterances
from checkpoints.hot.utterances import Buffer, Utterance
from checkpoints.queries.conversations.utterances import last_utterance, recorded_utterances
from checkpoints.queries.event_log import NOT_TAKEN
from checkpoints.states import EventKind
from tests.support.cast import Cast
from tests.unit.dashboard import scene

pytestmark = [pytest.mark.requirement("A33"), pytest.mark.usefixtures("hot_store")]


def begin(cast: Cast, *, inbox: str = "") -> UUID:
    """A thread with a buffer; with an inbox its agent takes messages."""
    thread = scene.start(cast.workspace, scene.make_agent(inbox=inbox))
    number, seq = last_utterance(thread)
    utterances.open_buffer(thread, recorded=number, seq=seq)
    return thread


def say(thread: UUID, *numbers: int, target: str = "signal", **more: Any) -> None:
    for number in numbers:
        value: Any = {"number": number, "text": f"words {number}"}
        value = value if target == "signal" else f"words {number}"
        utterances.add(thread, Utterance(number, target, value, "user:1", **more), per_minute=0)


def recorded(thread: UUID) -> list[int]:
    return [row.number for row in recorded_utterances(thread, first=1, limit=1_000)]


def test_they_are_signals_of_a_thread_without_a_message_channel(cast: Cast) -> None:
    thread = begin(cast)
    say(thread, 1, 2, audio={"$artifact": "ab" * 32})
    assert store.record_utterances(thread) == 2
    first, second = recorded_utterances(thread, first=1, limit=10)
    assert (first.number, first.value) == (1, {"number": 1, "text": "words 1"})
    assert (second.number, second.audio) == (2, {"$artifact": "ab" * 32})
    assert [row.value["number"] for row in queries.waiting_signals(thread, name="utterance")] == [
        1,
        2,
    ]
    assert utterances.threads_with_utterances() == []
    assert [row.number for row in recorded_utterances(thread, first=2, limit=10)] == [2]


def test_they_are_messages_where_the_agent_takes_messages(cast: Cast) -> None:
    thread = begin(cast, inbox="findings")
    say(thread, 1, 2, target="input")
    assert store.record_utterances(thread) == 2
    assert [row.message for row in queries.waiting_inputs(thread)] == ["words 1", "words 2"]


def test_a_buffer_that_did_not_learn_of_it_is_recorded_once_all_the_same(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends between the commit and its note, three times at three places."""
    thread = begin(cast)
    lost = 0
    for last in (3, 5, 9):
        say(thread, *range(1, last + 1))
        with monkeypatch.context() as patched:
            patched.setattr(utterances, "note_recorded", lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                store.record_utterances(thread)
            lost += 1
        assert utterances.find_buffer(thread) == Buffer(last, 0, 1)
    assert store.record_utterances(thread) == 9
    assert (recorded(thread), lost) == (list(range(1, 10)), 3)


def test_a_hot_store_without_its_data_continues_behind_what_is_recorded(
    cast: Cast, hot_store: redis.Redis
) -> None:
    thread = begin(cast)
    say(thread, 1, 2)
    store.record_utterances(thread)
    say(thread, 3)
    hot_store.flushall()
    assert store.record_utterances(thread) == 0
    number, seq = last_utterance(thread)
    assert utterances.open_buffer(thread, recorded=number, seq=seq).number == 2
    say(thread, 3)  # whoever said it has no word that it is recorded, and sends it again
    assert store.record_utterances(thread) == 3
    assert recorded(thread) == [1, 2, 3]


def test_a_thread_takes_as_many_as_it_keeps_and_the_rest_waits(cast: Cast) -> None:
    thread = begin(cast)
    say(thread, *range(1, NOT_TAKEN + 21))
    assert store.record_utterances(thread) == NOT_TAKEN
    assert store.record_utterances(thread) == NOT_TAKEN
    assert utterances.threads_with_utterances() == [thread]


def test_what_an_ended_thread_no_longer_takes_is_in_its_log(cast: Cast) -> None:
    thread = begin(cast)
    say(thread, 1)
    store.cancel(thread, actor="user:1")
    assert store.record_due() == 1
    [row] = recorded_utterances(thread, first=1, limit=10)
    assert (row.number, row.why) == (1, "The thread had ended.")
    [event] = queries.events(thread, kinds=[str(EventKind.UPDATE_REJECTED)]).rows
    assert event.data["message"] == {"number": 1, "text": "words 1"}
    assert utterances.threads_with_utterances() == []


def test_one_buffer_that_fails_keeps_no_other_waiting(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = [begin(cast) for _ in range(4)]
    for thread in threads:
        say(thread, 1)
    read = utterances.utterances_from

    def hostile(thread: UUID, *args: Any, **kwargs: Any) -> list[Utterance]:
        if thread == threads[1]:
            raise KeyError("a form that nobody foresaw")
        return read(thread, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(utterances, "utterances_from", hostile)
        store.record_due()
    assert [recorded(thread) for thread in threads] == [[1], [], [1], [1]]
    [aside] = queries.rows_set_aside()
    assert (aside.part, aside.row) == ("utterances", threads[1])


def test_a_buffer_of_another_database_stays(cast: Cast) -> None:
    thread, unknown = begin(cast), uuid4()
    utterances.open_buffer(unknown, recorded=0, seq=0)
    say(unknown, 1)
    say(thread, 1)
    assert store.record_due() == 2
    assert recorded(thread) == [1]
    assert [one.number for one in utterances.utterances_from(unknown, 1, at_most=10)] == [1]
    [aside] = queries.rows_set_aside()
    assert (aside.part, aside.row) == ("utterances", unknown)

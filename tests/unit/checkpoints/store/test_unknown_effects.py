"""Two operators answer at once: one answer counts, the other is told; the proof holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from uuid import UUID, uuid4

import pytest

from checkpoints import queries, store
from checkpoints.chain import verify_thread
from checkpoints.errors import AlreadySettled
from checkpoints.records import NewActivity, Position
from checkpoints.states import EventKind, Status
from checkpoints.verdicts import Verdict, about_unknown
from tests.unit.checkpoints.builders import (
    acquired,
    kinds_of,
    make_agent,
    make_thread,
    make_workspace,
    rows,
    status_of,
)
from tests.unit.checkpoints.racing import outcomes, race

pytestmark = pytest.mark.hazard
ROUNDS = 100


def asking(thread: UUID) -> UUID:
    """Let the thread ask about an effect."""
    work = acquired(thread)
    effect = NewActivity(
        id=uuid4(),
        position=Position(0, 1, "pay", 0, "pay#0"),
        kind="effect",
        tool="pay",
        args={"sum": "1.00"},
        idempotency_key=uuid4().hex,
        undo="take_back",
    )
    store.start_activity(work, effect)
    store.note_unknown(work, effect.id)
    store.leave(
        work, EventKind.THREAD_PARKED, reason="unknown", waiting_on=about_unknown(effect.id)
    )
    return effect.id


@pytest.mark.slow
def test_of_two_answers_at_once_exactly_one_counts(real_db: str) -> None:
    workspace, agent = make_workspace(), make_agent()
    threads = [make_thread(workspace=workspace, agent=agent) for _ in range(ROUNDS)]
    requests = [asking(thread) for thread in threads]

    def answer(verdict: Verdict, actor: str) -> Callable[[int], Status]:
        return lambda n: store.settle(
            threads[n], activity=requests[n], verdict=verdict, actor=actor, result=None
        )

    answers = race(
        ROUNDS,
        answer(Verdict.HAPPENED, "user:1"),
        answer(Verdict.NOT_HAPPENED, "user:2"),
        answer(Verdict.UNDO, "user:3"),
    )
    won = outcomes(answers, AlreadySettled)
    assert sum(won) == ROUNDS
    assert sum(n > 0 for n in won) >= 2, won  # it was a race, not a queue
    states: Counter[str] = Counter()
    for thread, effect, answer_ in zip(threads, requests, answers, strict=True):
        (event,) = [e for e in queries.events_after(thread, 0) if e.kind == "effect.settled"]
        row = queries.activity(effect)
        states[row.state] += 1
        assert row.state == {"user:1": "done", "user:2": "failed", "user:3": "unknown"}[event.actor]
        lost = [a for a in answer_ if isinstance(a, AlreadySettled)]
        assert {a.facts["actor"] for a in lost} == {event.actor}
        expected = Status.ROLLING_BACK if event.actor == "user:3" else Status.QUEUED
        assert status_of(thread) is expected
        assert len(kinds_of(thread)) == 7
        assert verify_thread(thread).intact
    assert [states["done"], states["failed"], states["unknown"]] == won


def test_an_answer_and_a_retry_at_once_leave_one_story(real_db: str) -> None:
    """Whoever comes second finds the thread gone on; no answer meets another attempt."""
    workspace, agent = make_workspace(), make_agent()
    threads = [make_thread(workspace=workspace, agent=agent) for _ in range(40)]
    requests = [asking(thread) for thread in threads]
    answers = race(
        40,
        lambda n: store.settle(
            threads[n], activity=requests[n], verdict=Verdict.HAPPENED, actor="user:1"
        ),
        lambda n: store.retry(threads[n], actor="user:2"),
    )
    for thread, effect, (settled, retried) in zip(threads, requests, answers, strict=True):
        first = not isinstance(settled, Exception)
        assert first is isinstance(retried, Exception)
        assert queries.activity(effect).state == ("done" if first else "unknown")
        assert kinds_of(thread).count("effect.settled") == first
        assert verify_thread(thread).intact


def test_what_lies_beside_the_way_is_read_by_ranges_of_steps(real_db: str) -> None:
    thread = make_thread(workspace=make_workspace(), agent=make_agent())
    rows(
        "INSERT INTO gp_activity (id, thread_id, workspace_id, branch, step, node, index, key, "
        "revision, kind, tool, state, args, salt, input_hash, idempotency_key, undo, error, "
        "attempts) SELECT gen_random_uuid(), %s::uuid, gen_random_uuid(), 0, n, 'pay', 0, 'pay#0', "
        "0, 'effect', 'pay', 'done', jsonb_build_object('n', n), '', '', '', '', '', 1 "
        "FROM generate_series(1, 5000) n",
        (thread,),
    )
    position = Position(1, 4999, "pay", 0, "pay#0")
    result = queries.at_place([(thread, 0, 4990, 2**31 - 1)], position, limit=500)
    assert [a.args["n"] for a in result] == list(range(4991, 5001))
    limited = queries.at_place([(thread, 0, -1, 2**31 - 1), (thread, 0, 10, 12)], position, limit=3)
    assert [a.args["n"] for a in limited] == [1, 2, 3, 11, 12]

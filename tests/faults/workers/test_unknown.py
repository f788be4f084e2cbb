"""kill -9 inside an effect that may not be repeated; what an operator says is what follows."""

from __future__ import annotations

import os
import signal

import pytest

from checkpoints import store
from checkpoints.verdicts import Verdict, question_of
from tests.faults.bench import LEASE, SWEEP, Case, Field, Worker

pytestmark = pytest.mark.hazard
GOES_ON = LEASE + SWEEP + 12


def killed(field: Field, *steps: str, inside: str) -> Case:
    """A thread whose worker was killed inside a call, and that asks about it."""
    case = field.play(*steps, hold=(f"in-{inside}",))
    case.wait_called(inside)
    os.kill(case.holder(), signal.SIGKILL)
    case.go(f"in-{inside}")
    case.wait_status("attention", seconds=GOES_ON)
    (effect,) = case.effects()
    assert (effect.state, len(case.calls(inside))) == ("unknown", 1)
    return case


def settle(case: Case, verdict: Verdict, **more: object) -> None:
    row = case.row()
    question = question_of(row.status, row.waiting_on)
    assert question is not None
    store.settle(
        case.id,
        activity=question.activity,
        verdict=verdict,
        actor="user:1",
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.requirement("B38")
def test_what_an_operator_says_of_a_killed_effect_is_what_follows(
    field: Field, worker: Worker
) -> None:
    # One after the other: each kill takes a process of the pool.
    happened = killed(field, "look first, shout fire, look last", inside="fire")
    settle(happened, Verdict.HAPPENED, result="heard by the porter", reason="he says so")
    did_not = killed(field, "look first, shout flood, look last", inside="flood")
    settle(did_not, Verdict.NOT_HAPPENED, reason="nobody heard it")
    undone = killed(field, "look first, hand letter, look last", inside="letter")
    settle(undone, Verdict.UNDO, reason="wrong address")

    happened.wait_status("succeeded", seconds=GOES_ON)
    assert len(happened.calls("fire")) == 1, "no second call"
    assert happened.state()["notes"] == ["saw first", "heard by the porter", "saw last"]

    did_not.wait_status("succeeded", seconds=GOES_ON)
    keys = did_not.calls("flood")
    assert (len(keys), len(set(keys))) == (2, 1), "a second call with the same key"
    (effect,) = did_not.effects()
    assert (effect.state, effect.attempts, effect.idempotency_key) == ("done", 2, keys[0])

    undone.wait_status("paused", seconds=GOES_ON)
    (key,) = undone.calls("letter")
    assert undone.calls("undo-letter") == [f"undo:{key}"]
    assert [e.state for e in undone.effects()] == ["compensated"]
    assert not list(undone.folder.glob("*.parcel"))
    assert undone.calls("last") == []
    for case in (happened, did_not, undone):
        assert len(case.calls("first")) == 1
        assert case.kinds().count("effect.settled") == 1

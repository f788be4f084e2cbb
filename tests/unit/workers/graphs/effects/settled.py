"""Threads that ask about an effect, and what a person answers."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from checkpoints import store
from checkpoints.states import EventKind, Status
from checkpoints.verdicts import Question, Verdict, question_of
from checkpoints.views import ActivityRow
from tests.unit.workers.conftest import Bench

from .unsure import world

type Any_Bench = Bench


def open_question(bench: Any_Bench, thread: UUID) -> Question | None:
    row = bench.row(thread)
    return question_of(row.status, row.waiting_on)


def settle(
    bench: Any_Bench, thread: UUID, verdict: str, *, activity: UUID | None = None, **more: Any
) -> Any:
    """Answer what is asked and work on, as an operator and then a worker do."""
    question = open_question(bench, thread)
    values = {
        "activity": activity or (question.activity if question else uuid4()),
        "verdict": Verdict(verdict),
        "actor": "user:7",
        **more,
    }
    store.settle(thread, **values)
    return work(bench, thread)


def work(bench: Any_Bench, thread: UUID) -> Any:
    while bench.row(thread).status in (Status.QUEUED, Status.ROLLING_BACK):
        bench.advance(thread)
    return bench.row(thread)


def effects(bench: Any_Bench, thread: UUID) -> list[ActivityRow]:
    return [a for a in bench.activities(thread) if a.kind == "effect"]


def lost(bench: Any_Bench, tool: str = "pay", **input: Any) -> UUID:
    """A thread whose worker was lost inside the effect."""
    world.lose = 1
    thread = bench.start(tool=tool, **input)
    row = work(bench, thread)
    assert row.status is Status.ATTENTION, row.status_reason
    return thread


def answer_of(bench: Any_Bench, thread: UUID) -> dict[str, Any]:
    """The last answer of a person as the log has it."""
    [*_, event] = [e for e in bench.events(thread) if e.kind == EventKind.EFFECT_SETTLED]
    assert event.actor == "user:7"
    return event.data


def changed(bench: Any_Bench, **input: Any) -> UUID:
    """A thread whose node failed after its effect was done, edited and retried."""
    world.broken = True
    thread = bench.start(**input)
    if input.get("gated"):
        work(bench, thread)
        bench.decide(thread, "approve")
    assert work(bench, thread).status is Status.FAILED
    bench.edit(thread, {"n": 2}, "another amount")
    world.broken = False
    bench.retry(thread)
    row = work(bench, thread)
    assert row.status is Status.ATTENTION, row.status
    assert "happened here with other arguments" in row.status_reason
    return thread

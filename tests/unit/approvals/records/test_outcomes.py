"""What came of requests: effects by name, by node, later ones, undone ones; one statement."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from uuid_utils.compat import uuid7

from approvals import records
from approvals.records import Outcomes, Question, outcomes
from checkpoints import store
from checkpoints.records import NewActivity, Position
from checkpoints.states import EventKind
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.records.exports.population import decide

pytestmark = pytest.mark.django_db


def made(
    work: Any, tool: str, *, node: str = "publish", approval: UUID | None = None, **more: Any
) -> UUID:
    """A finished effect of the step in progress."""
    activity = NewActivity(
        id=uuid7(),
        position=Position(work.branch, work.step + 1, node, 0, f"{tool}:{more.pop('n', 0)}"),
        kind="effect",
        tool=tool,
        args=more or {"x": 1},
        idempotency_key=uuid4().hex,
        undo="",
        approval=approval,
    )
    store.start_activity(work, activity)
    store.finish_activity(work, activity, state="done", result={"ok": True})
    return activity.id


def answered(cast: Cast, verdict: str = "approve", **more: Any) -> tuple[Any, Any]:
    """(the work, a request that was decided) of a thread that goes on."""
    work = scene.lease(scene.start(cast.workspace, scene.make_agent("payments")))
    scene.step(work, report="ready")
    more = {"args": {"payee": "ACME", "amount": "12"}, "tool": "bank.reserve"} | more
    row = scene.gate(work, title="Reserve?", **more)
    decide(cast, row, verdict, "as ordered")
    return scene.lease(row.thread), row


def listed(cast: Cast, *rows: Any) -> list[list[tuple[str, str, str]]]:
    result = records.outcomes_of([row.id for row in rows], workspace=cast.workspace)
    return [[(o.relation, o.tool, o.state) for o in result[row.id].rows] for row in rows]


@pytest.mark.requirement("A28")
def test_effects_by_name_by_node_and_later(cast: Cast) -> None:
    work, row = answered(cast)
    made(work, "bank.reserve", approval=row.id)
    made(work, "bank.note")
    made(work, "elsewhere", node="analyse")  # a sibling of the same step waited for nothing
    scene.step(work, report="reserved")
    made(work, "bank.pay")
    scene.step(work, report="paid")
    second = scene.gate(work, tool="mail", args={"to": "ACME"}, title="Mail?")
    decide(cast, second, "approve", "")
    work = scene.lease(row.thread)
    made(work, "mail", approval=second.id)
    scene.step(work, report="mailed")
    made(work, "archive")
    first = [
        ("request", "bank.reserve", "done"),
        ("node", "bank.note", "done"),
        ("later", "bank.pay", "done"),
    ]
    assert listed(cast, row, second) == [
        first,
        [("request", "mail", "done"), ("later", "archive", "done")],
    ]
    assert records.outcomes_of([row.id], workspace=cast.elsewhere) == {row.id: Outcomes()}


def test_what_was_refused_has_no_outcome(cast: Cast) -> None:
    work, row = answered(cast, "reject")
    made(work, "another.way")
    assert listed(cast, row) == [[]]


@pytest.mark.requirement("A28")
def test_an_undone_effect_says_so(cast: Cast) -> None:
    work, row = answered(cast)
    activity = made(work, "bank.reserve", approval=row.id)
    for kind, result in (
        (EventKind.COMPENSATION_STARTED, None),
        (EventKind.COMPENSATION_FINISHED, {}),
    ):
        store.record_compensation(work, activity, kind=kind, tool="bank.reserve", result=result)
    assert listed(cast, row) == [[("request", "bank.reserve", "compensated")]]


@pytest.mark.requirement("A28")
def test_one_search_finds_decision_effect_and_undo(cast: Cast) -> None:
    """Also a payment that nobody was asked about."""
    work, row = answered(cast)
    activity = made(work, "bank.reserve", approval=row.id, payee="ACME", amount="12")
    store.record_compensation(
        work, activity, kind=EventKind.COMPENSATION_FINISHED, tool="bank.reserve", result={}
    )
    alone = scene.lease(scene.start(cast.workspace, scene.make_agent("payments")))
    made(alone, "bank.pay", payee="ACME GmbH", amount="7.00")
    question = Question(cast.workspace, payee="acme", payees=("payee",), amounts=("amount",))
    result = records.answer(question).rows
    assert [(r.kind, r.approval) for r in reversed(result)] == [
        ("approval.requested", row.id),
        ("approval.decided", row.id),
        ("effect.started", row.id),
        ("effect.finished", row.id),
        ("compensation.finished", row.id),
        ("effect.started", None),
        ("effect.finished", None),
    ]
    assert {r.args["payee"] for r in result} == {"ACME", "ACME GmbH"}


def test_many_requests_are_one_statement(cast: Cast) -> None:
    rows = [answered(cast)[1] for _ in range(3)]
    with CaptureQueriesContext(connection) as captured:
        listed(cast, *rows)
    assert len(captured) == 1
    assert records.outcomes_of([], workspace=cast.workspace) == {}


@pytest.mark.requirement("A28")
def test_an_undo_that_failed_says_so_until_one_succeeds(cast: Cast) -> None:
    work, row = answered(cast)
    first = made(work, "bank.reserve", approval=row.id)
    second = made(work, "bank.note")

    def undo(activity: UUID, kind: EventKind, **more: Any) -> None:
        store.record_compensation(work, activity, kind=kind, tool="bank.reserve", **more)

    undo(first, EventKind.COMPENSATION_FAILED, error="The bank is closed.")
    undo(second, EventKind.COMPENSATION_FAILED, error="Gone.")
    undo(first, EventKind.COMPENSATION_FAILED, error="The bank refused.")
    undo(second, EventKind.COMPENSATION_FINISHED, result={})
    result = records.outcomes_of([row.id], workspace=cast.workspace)[row.id].rows
    assert [(o.state, o.undo_failed, o.undo_error) for o in result] == [
        ("done", True, "The bank refused."),
        ("compensated", False, ""),
    ]


@pytest.mark.requirement("A28")
@pytest.mark.parametrize("bound", ["CALLS_AFTER", "PER_REQUEST"])
def test_a_list_that_was_cut_says_so(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    work, row = answered(cast)
    for n in range(2):
        made(work, "of.node", n=n)
    scene.step(work, report="ready")
    for n in range(3):
        made(work, "later", node="pay", n=n)
    named = made(work, "by.name", approval=row.id)

    def seen() -> tuple[int, bool]:
        result = records.outcomes_of([row.id], workspace=cast.workspace)[row.id]
        assert named in {one.activity for one in result.rows}
        return len(result.rows), result.complete

    assert seen() == (6, True)
    monkeypatch.setattr(outcomes, bound, 4 if bound == "CALLS_AFTER" else 3)
    assert seen() == (6, True)  # the calls afterwards are exactly as many
    monkeypatch.setattr(outcomes, bound, 2)
    # Only later calls are looked through in part, and each relation is listed up to the bound.
    assert seen() == (5, False)

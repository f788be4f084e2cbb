"""Doing an effect again is asked for as such: high risk, alone, with what was done before."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from approvals import gates, queries
from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from approvals.queries import ApprovalRow
from approvals.rules.terms import Terms
from approvals.verification.proof import verify
from checkpoints.states import Status
from tests.support.cast import Cast
from tests.unit.dashboard.approvals.test_approvals import look
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs.effects import repeating
from tests.unit.workers.graphs.effects.repeating import lines

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("E13")]


@pytest.fixture
def bench(cast: Cast, settings: Any) -> Bench:
    settings.GATEPOST_UNDO_WINDOWS = [0.0, 0.0, 10.0]
    repeating.paid.clear()
    bench = bench_of(repeating)
    bench.workspace = cast.workspace
    return bench


def decide(cast: Cast, row: ApprovalRow, verdict: str = "approve", **more: Any) -> ApprovalRow:
    who = cast.actor("manager")
    return gates.decide(
        row.id,
        workspace=row.workspace,
        reviewer=gates.Reviewer(who.id, "manager", "manager"),
        verdict=verdict,
        proposal_hash=row.standing_hash,
        **more,
    )


def done(cast: Cast, bench: Bench, *numbers: int, **input: Any) -> UUID:
    thread = bench.start(payments=lines(*numbers), **input)
    if bench.advance(thread).status is Status.WAITING:
        decide(cast, bench.open(thread))
        bench.advance(thread)
    assert bench.row(thread).status is Status.SUCCEEDED
    return thread


def repeated(
    cast: Cast, bench: Bench, *, now: tuple[int, ...] = (2, 3, 4, 5), **input: Any
) -> ApprovalRow:
    base = done(cast, bench, 1, 2, 3, **input)
    fork = bench.fork(base, 0, {"payments": lines(*now)}, effects="ask")
    assert bench.advance(fork).status is Status.WAITING
    return bench.open(fork)


@pytest.mark.parametrize("gated", [True, False])
def test_it_is_of_high_risk_whatever_the_author_says(cast: Cast, bench: Bench, gated: bool) -> None:
    row = repeated(cast, bench, gated=gated)
    assert (row.kind, row.risk) == ("repeat", "high")
    assert row.terms["undo_window"] == 10
    payload = row.repeats
    assert payload["state"] == "done"
    assert payload["approved_by"] == ("manager" if gated else "")
    assert payload["result"] == '"receipt 1"'
    assert verify(row.thread).intact
    held = decide(cast, row)
    assert held.status == "held"


@pytest.mark.parametrize("action", ["ask", "allow"])
def test_no_policy_makes_it_easier(cast: Cast, bench: Bench, action: Any) -> None:
    draft = Draft("Small", "true", action=action, risk="low", terms=Terms(undo_window=0))
    base = done(cast, bench, 1, 2)
    policies.make(bench.workspace, draft, actor="user:9")
    assert bench.roll_back(base, 0).status is Status.PAUSED
    bench.resume(base)
    assert bench.advance(base).status is Status.WAITING
    row = bench.open(base)
    assert (row.kind, row.risk, row.terms["undo_window"]) == ("repeat", "high", 10)
    assert len(repeating.paid) == 1


def test_the_page_says_what_was_done_before_line_by_line(cast: Cast, bench: Bench) -> None:
    row = repeated(cast, bench)
    text = look(cast, row)
    assert "Gatepost asks because this was already done once." in text
    assert "The agent’s author placed a gate" not in text
    assert "approved by manager" in text
    assert "2 of 4 lines , €6.00" in text.replace("lines,", "lines ,")
    assert "2 lines, €10.00" in text
    assert "RE-2 2.50 2.50 Again" in text
    assert "RE-5 – 5.50 New" in text
    assert "RE-1 1.50 – Left out" in text
    assert "Approve only the 2 new" in text


def test_only_the_new_ones_are_an_edit_and_are_all_that_happens(cast: Cast, bench: Bench) -> None:
    row = repeated(cast, bench)
    client = cast.client("manager")
    body = {"verdict": "edit", "only": "new", "proposal_hash": row.standing_hash, "confirmed": "1"}
    answer = client.post(f"/approvals/{row.id}/decide/", body)
    assert answer.status_code == 303
    after = queries.approval(row.id, workspace=row.workspace)
    wanted = {"count": 2, "total": "10.00", "currency": "EUR", "payments": lines(4, 5)}
    assert (after.status, after.outcome, after.decided_args) == ("held", "edit", wanted)


def test_the_api_carries_the_overlap_and_the_arguments_of_the_new_ones(
    cast: Cast, bench: Bench
) -> None:
    row = repeated(cast, bench)
    payload = cast.client("manager").get(f"/api/v1/approvals/{row.id}/").json()
    assert payload["kind"] == "repeat"
    assert payload["repeats"]["only_new"]["payments"] == lines(4, 5)
    (listed,) = payload["repeats"]["lists"]
    assert (listed["again"], listed["new"], listed["twice"]) == (2, 2, "€6.00")
    assert [line["name"] for line in listed["rows"] if line["again"]] == ["RE-2", "RE-3"]


def test_where_all_of_it_was_done_nothing_is_new(cast: Cast, bench: Bench) -> None:
    row = repeated(cast, bench, now=(1, 2, 3))
    assert "Approve only" not in look(cast, row)
    body = {"verdict": "edit", "only": "new", "proposal_hash": row.standing_hash, "confirmed": "1"}
    answer = cast.client("manager").post(f"/approvals/{row.id}/decide/", body)
    assert answer.status_code == 422
    assert queries.approval(row.id, workspace=row.workspace).open


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_it_is_never_decided_in_bulk(cast: Cast, bench: Bench, verdict: str) -> None:
    row = repeated(cast, bench)
    client = cast.client("manager")
    item = {"id": str(row.id), "verdict": verdict, "proposal_hash": row.standing_hash}
    item["comment"] = "because"
    answer = client.post("/api/v1/approvals/decide/", [item], content_type="application/json")
    assert "The same was done before" in json.dumps(answer.json())
    ticked = {"item": f"{row.id}:{row.standing_hash}", "verdict": verdict, "comment": "because"}
    page = client.post("/approvals/decide/", ticked | {"confirmed": "1"})
    assert page.status_code == 409
    assert "The same was done before" in page.content.decode()
    assert queries.approval(row.id, workspace=row.workspace).open
    assert f'value="{row.id}:' not in client.get("/approvals/").content.decode()

"""Whom a change of the policies touches: open, held and settled requests, counted and reopened."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from approvals import gates
from approvals.policies import changes as policies
from approvals.policies import queries as queries_policies
from approvals.policies.affected_requests import changed, touched
from approvals.policies.drafts import Draft
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from checkpoints.states import Status
from dashboard.administration.policies import edit_policy, preview_policy
from dashboard.errors import Conflict
from tests.support.cast import Cast
from tests.support.reviewers import reviewer_in
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs.effects import gated

pytestmark = pytest.mark.django_db
ADMIN = "user:9"
TWO = Draft("Bills", "true", terms=Terms(stages=(Seat(count=2),)))


@pytest.fixture
def bench(cast: Cast) -> Bench:
    gated.paid.clear()
    gated.failures[0] = 0
    bench = bench_of(gated)
    bench.workspace = cast.workspace
    return bench


def request(bench: Bench, *, decide: bool, **input: Any) -> ApprovalRow:
    thread = bench.start(**input)
    assert bench.advance(thread).status is Status.WAITING
    row = bench.open(thread)
    if not decide:
        return row
    return gates.decide(
        row.id,
        workspace=bench.workspace,
        reviewer=reviewer_in(bench.workspace, 2, "two"),
        verdict="approve",
        proposal_hash=row.standing_hash,
    )


def crowd(bench: Bench) -> tuple[Any, dict[str, ApprovalRow]]:
    """A policy, and a request in each place where one can stand."""
    made = policies.make(
        bench.workspace, Draft("Bills", "true", terms=Terms(undo_window=60)), actor=ADMIN
    )
    rows = {
        "open": request(bench, decide=False, asks=False),
        "held": request(bench, decide=True, asks=False),
    }
    policies.switch(made.policy, False, workspace=bench.workspace, actor=ADMIN)
    rows["author open"] = request(bench, decide=False)
    rows["settled"] = request(bench, decide=True)
    done = request(bench, decide=True)
    assert bench.advance(done.thread).status is Status.SUCCEEDED
    policies.switch(made.policy, True, workspace=bench.workspace, actor=ADMIN)
    return made, rows


def counted(counts: Any) -> tuple[int, int, int]:
    return counts.open, counts.held, counts.settled


def test_a_stricter_version_touches_open_held_and_settled(bench: Bench, cast: Cast) -> None:
    made, rows = crowd(bench)
    admin = cast.actor("admin")
    assert counted(preview_policy(admin, made.policy, draft=TWO, seen=1)) == (2, 1, 1)
    with pytest.raises(Conflict, match="2 open, 1 held and 1 settled"):
        edit_policy(admin, made.policy, draft=TWO, seen=1)
    _, n = edit_policy(admin, made.policy, draft=TWO, seen=1, waiting="reopen")
    assert n == 4
    for row in rows.values():
        paid = len(gated.paid)
        assert bench.advance(row.thread).status is Status.WAITING
        assert len(gated.paid) == paid
        assert bench.open(row.thread).terms["stages"][0]["count"] == 2
        assert bench.intact(row.thread)


def test_kept_ones_are_asked_again_before_they_happen(bench: Bench, cast: Cast) -> None:
    made, rows = crowd(bench)
    admin = cast.actor("admin")
    _, n = edit_policy(admin, made.policy, draft=TWO, seen=1, waiting="keep")
    assert n == 0
    assert bench.open(rows["open"].thread).id == rows["open"].id
    assert bench.advance(rows["settled"].thread).status is Status.WAITING
    assert len(gated.paid) == 1


def test_a_looser_version_touches_what_waits_under_the_older_one_only(
    bench: Bench, cast: Cast
) -> None:
    made, _ = crowd(bench)
    loose = Draft("Bills", "true", action="allow")
    plan = preview_policy(cast.actor("admin"), made.policy, draft=loose, seen=1)
    assert counted(plan) == (1, 0, 0)


def test_a_new_policy_a_switch_and_another_place_are_counted_too(bench: Bench, cast: Cast) -> None:
    made, _ = crowd(bench)
    admin = cast.actor("admin")
    new = Draft("Strict", "true", terms=Terms(stages=(Seat(count=3),)))
    assert counted(preview_policy(admin, draft=new)) == (1, 0, 1), "the first one decides"
    strict = policies.make(cast.workspace, new, actor=ADMIN)
    off = preview_policy(admin, made.policy, active=False)
    assert counted(off) == (2, 1, 1)
    first = preview_policy(admin, strict.policy, position=1)
    assert counted(first) == (2, 1, 1)


def test_the_preview_says_what_a_reopening_then_does(bench: Bench, cast: Cast) -> None:
    """The order after a change, computed a second way: by making the change."""
    made, _ = crowd(bench)
    other = policies.make(cast.workspace, Draft("Other", "false"), actor=ADMIN)
    for change in (
        {"position": 2},
        {"active": False},
        {"draft": TWO},
    ):
        rows = queries_policies.policies(cast.workspace)
        then = [(row.name, row.terms) for row in changed(rows, made.policy, **change)]
        before = touched(cast.workspace, changed(rows, made.policy, **change))
        seen = queries_policies.policy(made.policy, workspace=cast.workspace).number
        more = {"seen": seen, "waiting": "keep"} if "draft" in change else {}
        edit_policy(cast.actor("admin"), made.policy, **change, **more)
        now = queries_policies.active(cast.workspace)
        assert [(row.name, row.terms) for row in now] == then
        assert touched(cast.workspace, now) == before
    assert other.name in {row.name for row in now}


def test_by_call_and_by_command(bench: Bench, cast: Cast, tmp_path: Path) -> None:
    made, _ = crowd(bench)
    draft = {"name": "Bills", "condition": "true", "terms": {"stages": [{"count": 2}]}}
    client = cast.client("admin")
    address = f"/api/v1/policies/{made.policy}/?preview=1"
    body = {"draft": draft, "number": 1}
    answer = client.post(address, body, content_type="application/json").json()
    wanted = {"open": 2, "held": 1, "settled": 1, "complete": True}
    assert answer == wanted
    new = client.post(
        "/api/v1/policies/?preview=1", draft | {"name": "New"}, content_type="application/json"
    )
    assert new.json() == {"open": 1, "held": 0, "settled": 1, "complete": True}
    assert len(queries_policies.policies(cast.workspace)) == 1
    assert queries_policies.policy(made.policy, workspace=cast.workspace).number == 1
    file = tmp_path / "draft.json"
    file.write_text(json.dumps(draft))
    assert called("preview", "Bills", "--draft", str(file)) == wanted
    assert called("preview", "Bills", "--switch", "off")["open"] == 0


def called(*words: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("policy", *words, "--as", "admin", "--json", stdout=out, stderr=io.StringIO())
    payload: dict[str, Any] = json.loads(out.getvalue())
    return payload

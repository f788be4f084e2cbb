"""Whose turn it is has one rule: whatever people do, every reader of a request answers alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from approvals import gates, queries
from approvals.deputies.changes import Period, hand_over, name_deputy
from approvals.gates import validity
from approvals.inbox import boxes as inbox
from approvals.notify.recipients import deciders, due
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms, terms_of
from approvals.rules.votes import progress
from approvals.verification.proof import verify
from checkpoints import store
from checkpoints.errors import GatepostError
from dashboard import errors
from dashboard.approvals import decide_many as bulk
from dashboard.approvals.approval_detail import ApprovalDetail
from dashboard.approvals.request_reads import ApprovalPage, approval_side
from dashboard.approvals.reviewers import Viewer
from dashboard.approvals.turns import nobody_can
from dashboard.identity.permissions import Actor, actor_of
from dashboard.identity.seats import person_of, seat_of
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

NAMES = ("ann", "ben", "cem", "dee")
TEAMS = ("finance", "legal")
ARGS = ({"report": "one"}, {"report": "two"}, {"report": "three"})
SEATS = st.builds(
    Seat,
    people=st.lists(st.sampled_from(NAMES), max_size=2, unique=True).map(tuple),
    teams=st.lists(st.sampled_from(TEAMS), max_size=1).map(tuple),
    count=st.integers(1, 3),
)
PEOPLE = st.sampled_from(NAMES)
STEPS = st.one_of(
    st.tuples(st.just("next"), st.none(), st.sampled_from((None, None, None, *ARGS))),
    st.tuples(st.just("next"), st.none(), st.none()),
    st.tuples(st.sampled_from(("approve", "approve", "take_back")), PEOPLE, st.none()),
    st.tuples(st.just("edit"), PEOPLE, st.sampled_from(ARGS)),
    st.tuples(st.sampled_from(("role", "barred")), PEOPLE, st.none()),
    st.tuples(st.sampled_from(("deputy", "hand_over")), PEOPLE, PEOPLE),
    st.tuples(st.just("team"), PEOPLE, st.sampled_from(TEAMS)),
    st.tuples(st.sampled_from(("expire", "settle")), st.none(), st.none()),
)


@dataclass(frozen=True, slots=True)
class Case:
    """One request, and what happens to it."""

    stages: tuple[Seat, ...]
    window: float
    calls_in: Seat | None
    steps: tuple[tuple[str, Any, Any], ...] = field(default=())


CASES = st.builds(
    Case,
    stages=st.lists(SEATS, min_size=1, max_size=3).map(tuple),
    window=st.sampled_from((0.0, 600.0)),
    calls_in=st.none() | SEATS,
    steps=st.lists(STEPS, min_size=2, max_size=9).map(tuple),
)


class Undone(Exception):
    """Takes a tried verdict back."""


class Bench:
    """Four reviewers whose roles and teams come and go."""

    def __init__(self, cast: Cast) -> None:
        self.cast, self.workspace = cast, cast.workspace
        self.agent = scene.make_agent()
        self.users = {}
        for name, team in zip(NAMES, (*TEAMS, *TEAMS), strict=True):
            user: Any = get_user_model().objects.create_user(name, password="x")
            user.groups.add(Group.objects.get_or_create(name=team)[0])
            for role in ("viewer", "reviewer"):
                store.grant(self.workspace, user.pk, role, actor="user:0")
            self.users[name] = user

    def switch_role(self, name: str) -> None:
        who = self.users[name].pk
        if not store.withdraw(self.workspace, who, "reviewer", actor="user:0"):
            store.grant(self.workspace, who, "reviewer", actor="user:0")

    def switch_team(self, name: str, team: str) -> None:
        groups, one = self.users[name].groups, Group.objects.get_or_create(name=team)[0]
        (groups.remove if one in groups.all() else groups.add)(one)


def actor_named(name: str) -> Actor:
    return actor_of(get_user_model().objects.get(username=name))


def now(row: ApprovalRow) -> ApprovalRow:
    return queries.approval(row.id, workspace=row.workspace)


def gate_lets_approve(row: ApprovalRow, who: Actor) -> bool:
    """Whether the gate takes an approval of this person: tried, and rolled back."""
    try:
        with transaction.atomic():
            decisions.decide(who, row.id, "approve", row.standing_hash)
            raise Undone
    except Undone:
        return True
    except errors.ActionError:
        return False


def answers(row: ApprovalRow, who: Actor) -> dict[str, bool]:
    """Whether this person can approve now, by each reader."""
    person, user = person_of(who), seat_of(who)[0]
    mine = inbox.Wanted(row.workspace, "mine", "age", person)
    page = ApprovalPage(row.workspace, row.id, viewer=Viewer(who))
    own = approval_side(page, tuple(sorted(who.roles)))["own"]
    payload = {one.name: bool(due([one], row)) for one in deciders(row.workspace)}
    decides = "reviewer" in who.roles
    results = {
        "gate": gate_lets_approve(row, who),
        # The box is shown to those who may decide at all.
        "inbox": decides and row.id in inbox.in_order(mine),
        "mail": payload.get(user, False),
        "page": row.open and not own.why and not own.waits,
        "api": ApprovalDetail.read(row, who).decide.allowed,
    }
    if row.id in person.acts_for.handed_over:
        del results["inbox"]  # they may still decide it, and did not want to see it
    if decides and len(terms_of(row.terms).stages) == 1:
        [item] = bulk.preview(who, [bulk.Item(row.id, row.standing_hash)])
        results["bulk"] = item.good
    return results


def agree(bench: Bench, row: ApprovalRow) -> None:
    """Hold every reader against the rule itself."""
    row, votes = now(row), queries.votes(row.id)
    rule = progress(terms_of(row.terms), votes, escalated=row.escalated_at is not None)
    rule = rule if row.open else rule.closed()
    assert row.progress.columns == rule.columns
    assert {v.decision for v in votes if v.counts} == rule.decisions
    can, own = {}, {}
    for name in NAMES:
        result = answers(row, actor_named(name))
        assert len(set(result.values())) == 1, (name, result, row.tally)
        can[name] = result["gate"]
        person = person_of(actor_named(name))
        # A deputy and whom they represent have one right together.
        own[name] = can[name] and rule.part(person.id, person.seats) == "due"
    others = [who for who in deciders(row.workspace) if who.name not in NAMES]
    able = sum(own.values()) + sum(bool(due([who], row)) for who in others)
    if row.open:
        enough = able >= rule.needed - rule.got
        assert bool(nobody_can(row.progress, row.workspace)) is not enough
        ann = person_of(actor_named("ann"))
        waits = inbox.counts(row.workspace, ann)["mine"]
        handed = row.id in ann.acts_for.handed_over
        assert waits == int((can["ann"] or in_box(row, bench)) and not handed)
    if row.status == "settled" and row.outcome in ("approve", "edit"):
        able_now = {one.id: one for one in deciders(row.workspace)}
        seats = [[*seat.names, *rule.called_in] for seat in rule.seats]
        lost = {
            vote.name
            for value, named in zip(rule.counted, seats, strict=True)
            for vote in value
            if vote.person not in able_now
            or (owner := able_now.get(vote.for_person or vote.person)) is None
            or set(named).isdisjoint(owner.names)
        }
        doubts = validity.doubts(row)
        assert bool(doubts) is bool(lost)
        assert all(name in doubts for name in lost)


def in_box(row: ApprovalRow, bench: Bench) -> bool:
    """Whether ann, who may have lost the role, still is of those whose turn it is."""
    who = actor_named("ann")
    person = person_of(who)
    return row.progress.part(person.id, person.seats) == "due"


def play(bench: Bench, row: ApprovalRow, step: tuple[str, Any, Any]) -> None:
    verb, name, what = step
    if verb == "next":  # somebody whose turn it is
        able = (who.name for who in due(deciders(row.workspace), now(row)))
        name, verb = next(able, "ann"), "edit" if what else "approve"
    try:
        if verb == "role":
            bench.switch_role(name)
        elif verb == "team":
            bench.switch_team(name, what)
        elif verb == "deputy":
            period = Period(None, datetime.now(UTC) + timedelta(days=1))
            ids = [f"user:{bench.users[one].pk}" for one in (name, what)]
            name_deputy(row.workspace, *ids, period, reason="out", actor="user:0")
        elif verb == "hand_over":
            person = f"user:{bench.users[name].pk}"
            hand_over(
                row.id, workspace=row.workspace, person=person, actor=person, to=what, reason=""
            )
        elif verb == "expire":
            move_clock(row.id, "decide_by")
            gates.expire_due()
        elif verb == "settle":
            move_clock(row.id, "effective_at")
            gates.settle_due()
        elif verb == "take_back":
            decisions.take_back(actor_named(name), row.id)
        elif verb in ("approve", "edit"):
            seen = now(row).standing_hash
            decisions.decide(actor_named(name), row.id, verb, seen, args=what)
    except (errors.ActionError, GatepostError):
        pass  # what is refused changes nothing, and everybody goes on to agree


def move_clock(ident: UUID, column: str) -> None:
    status = "pending" if column == "decide_by" else "held"
    rows(
        f"UPDATE gp_approval SET {column} = clock_timestamp() WHERE id = %s AND status = %s",
        (ident, status),
    )


@pytest.mark.slow
@pytest.mark.requirement("E12")
@pytest.mark.django_db
@pytest.mark.parametrize("examples", [20, pytest.param(200, marks=pytest.mark.nightly)])
def test_all_readers_agree_whose_turn_it_is(cast: Cast, examples: int) -> None:
    bench, seen, serial = Bench(cast), {"acted": 0, "stuck": 0, "settled": 0}, count(1)

    @settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    @given(CASES)
    def hold(case: Case) -> None:
        with transaction.atomic():
            terms = Terms(
                stages=case.stages,
                undo_window=case.window,
                barred=(f"user:{bench.users['dee'].pk}",) if case.window else (),
                on_expiry="escalate" if case.calls_in else "expire",
                escalate_to=case.calls_in,
                escalate_for=3600 if case.calls_in else 0,
            )
            row = scene.waiting(
                cast.workspace,
                bench.agent,
                title=f"Publish {next(serial)}",
                args=ARGS[0],
                terms=terms,
                risk="low",
            )
            agree(bench, row)
            for step in case.steps:
                play(bench, row, step)
                agree(bench, row)
            end = now(row)
            seen["acted"] += bool(queries.votes(row.id))
            seen["stuck"] += end.open and bool(nobody_can(end.progress, cast.workspace))
            seen["settled"] += end.status == "settled"
            report = verify(row.thread, files=False)
            # Only the clock was moved, past the log.
            assert not {"voted", "turn"} & set(report.what.split()), report.what
            transaction.set_rollback(True)

    hold()
    assert min(seen.values()) >= 3, seen


def test_an_edit_in_a_later_stage_gives_the_turn_back_to_the_first(cast: Cast) -> None:
    """The case that once left nobody able to approve in the browser."""
    bench = Bench(cast)
    terms = Terms(stages=(Seat(people=("ann",)), Seat(people=("ben",))))
    row = scene.waiting(cast.workspace, bench.agent, args=ARGS[0], terms=terms)
    decisions.decide(actor_named("ann"), row.id, "approve", row.standing_hash)
    decisions.decide(actor_named("ben"), row.id, "edit", now(row).standing_hash, args=ARGS[1])
    row = now(row)
    assert list(row.due_seats) == ["user:ann"]
    assert [answers(row, actor_named(name))["page"] for name in NAMES] == [
        True,
        False,
        False,
        False,
    ]
    agree(bench, row)


def test_a_request_says_why_nobody_can_approve_it(cast: Cast) -> None:
    bench = Bench(cast)
    row = scene.waiting(
        cast.workspace, bench.agent, args=ARGS[0], terms=Terms(stages=(Seat(people=("ann",)),))
    )
    assert nobody_can(now(row).progress, cast.workspace) == ""
    bench.switch_role("ann")
    why = nobody_can(now(row).progress, cast.workspace)
    assert why.startswith("Nobody can approve this now: it needs ann, and no active reviewer")
    client = cast.client("manager")
    assert why in client.get(f"/approvals/{row.id}/").content.decode()
    assert client.get(f"/api/v1/approvals/{row.id}/").json()["nobody_can"] == why

"""Gates: one outcome per request, of exactly what the reviewer saw, and whoever is late is told."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, transaction

from approvals import gates, queries
from approvals.errors import AlreadyDecided, ProposalChanged, VerdictRefused
from approvals.gates import Proposal, Reviewer
from approvals.queries import ApprovalRow
from checkpoints import queries as threads
from checkpoints import store
from checkpoints.chain import verify_thread
from checkpoints.errors import InvalidValue, LeaseLost, NotFound
from checkpoints.records import Position, Work
from checkpoints.state import deltas
from checkpoints.states import EventKind, Status
from checkpoints.store import NewEvent
from tests.unit.checkpoints.builders import (
    OPERATOR,
    Driver,
    acquired,
    drive,
    kinds_of,
    make_agent,
    make_thread,
    make_workspace,
    one,
    rows,
    status_of,
)
from tests.unit.checkpoints.racing import outcomes, race

MANAGER, OTHER = Reviewer("user:2", "Mira"), Reviewer("user:3", "Omar")


def gate(work: Work, key: str = "publish#0", **more: Any) -> Proposal:
    """Publishing a report at the step that `work` is about to do."""
    values: dict[str, Any] = {
        "kind": "gate",
        "tool": "publish",
        "args": {"report": "Tides", "price": "12.50"},
        "title": "Publish the report?",
        "risk": "high",
        "undo": "unpublish",
    }
    position = Position(work.branch, work.step + 1, "publish", 0, key)
    return Proposal(position, **(values | more))


def question(work: Work, schema: Any = None) -> Proposal:
    position = Position(work.branch, work.step + 1, "publish", 0, "ask#0")
    return Proposal(position, "question", "", {"text": "Which?"}, "Which one?", schema=schema)


def opened(*proposals: Any, work: Work | None = None) -> list[ApprovalRow]:
    """A thread that waits for these; its requests, oldest first."""
    if work is None:
        work = drive(make_thread(), 1).work
    made = [p(work) if callable(p) else p for p in proposals or (gate,)]
    assert gates.request(work, made, waiting_on={"gate": made[0].title})
    return list(reversed(queries.for_thread(work.thread)))


def decide(row: ApprovalRow, verdict: str = "approve", **more: Any) -> ApprovalRow:
    values: dict[str, Any] = {"reviewer": MANAGER, "proposal_hash": row.proposal_hash}
    return gates.decide(row.id, workspace=row.workspace, verdict=verdict, **(values | more))


def untouched(row: ApprovalRow) -> bool:
    return (
        queries.approval(row.id, workspace=row.workspace) == row
        and one("SELECT count(*) FROM gp_decision") == 0
        and status_of(row.thread) is Status.WAITING
    )


# --- asking -----------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.requirement("C31")
def test_a_gate_commits_the_proposal_and_lets_the_thread_wait_without_a_lease() -> None:
    work = drive(make_thread(title="Tides"), 1).work
    thought = NewEvent(EventKind.THOUGHT_RECORDED, {"text": "ready"}, work.owner)
    assert gates.request(
        work,
        [gate(work, reasons=("all figures agree",), description="Report and chart")],
        events=[thought],
        waiting_on={"gate": "publish"},
    )
    [row] = queries.for_thread(work.thread)
    assert (row.status, row.open, row.effect, row.outcome) == ("pending", True, True, "")
    assert (row.tool, row.args, row.title, row.risk, row.undo) == (
        "publish", {"report": "Tides", "price": "12.50"}, "Publish the report?", "high",
        "unpublish",
    )  # fmt: skip
    assert (row.branch, row.step, row.node, row.index, row.key) == (0, 2, "publish", 0, "publish#0")
    assert (row.reasons, row.description, row.deadline) == (
        ["all figures agree"], "Report and chart", None,
    )  # fmt: skip
    assert (row.thread_title, row.workspace) == ("Tides", work.workspace)
    thread = threads.thread(work.thread, workspace=work.workspace)
    assert (thread.status, thread.waiting_on) == (Status.WAITING, {"gate": "publish"})
    assert (thread.lease_owner, thread.lease_until) == ("", None)
    with pytest.raises(LeaseLost):
        Driver(work).step()
    assert kinds_of(work.thread)[-3:] == [
        "thought.recorded", "approval.requested", "thread.suspended",
    ]  # fmt: skip
    event = threads.events(work.thread, kinds=["approval"]).rows[0]
    assert event.data["proposal_hash"] == row.proposal_hash
    assert queries.open_count(workspace=work.workspace) == 1
    assert verify_thread(work.thread).intact


@pytest.mark.django_db
def test_the_hash_binds_all_that_a_decision_is_about() -> None:
    work = drive(make_thread(), 1).work
    [row] = opened(gate(work, expires_in=3600), work=work)
    assert row.deadline is not None
    same: dict[str, Any] = {
        "workspace": row.workspace,
        "thread": row.thread,
        "position": Position(row.branch, row.step, row.node, row.index, row.key),
        "tool": row.tool,
        "args": row.args,
        "agent_version": row.agent_version_id,
        "policy_version": "author",
        "deadline": row.deadline,
    }
    assert gates.proposal_hash(**same) == row.proposal_hash  # from what is stored, to the byte
    others = {
        "workspace": uuid4(),
        "thread": uuid4(),
        "position": Position(0, 2, "publish", 0, "publish#1"),
        "tool": "delete",
        "args": row.args | {"price": "12.51"},
        "agent_version": uuid4(),
        "policy_version": "2",
        "deadline": None,
    }
    hashes = {gates.proposal_hash(**(same | {name: v})) for name, v in others.items()}
    assert len(hashes | {row.proposal_hash}) == len(others) + 1


@pytest.mark.django_db
def test_news_that_came_meanwhile_keeps_the_worker_awake_and_opens_nothing() -> None:
    work = drive(make_thread(), 1).work
    store.wake(work.thread, event=NewEvent(EventKind.PAUSE_REQUESTED, {}, OPERATOR))
    assert not gates.request(work, [gate(work)])
    assert queries.for_thread(work.thread) == []
    assert status_of(work.thread) is Status.RUNNING
    assert gates.request(work, [gate(work)])  # the second look is up to date


@pytest.mark.django_db
def test_a_lost_lease_opens_nothing() -> None:
    work = drive(make_thread(), 1).work
    store.cancel(work.thread, actor=OPERATOR)
    with pytest.raises(LeaseLost):
        gates.request(work, [gate(work)])
    assert queries.for_thread(work.thread) == []
    assert kinds_of(work.thread)[-1] == "thread.cancelled"


@pytest.mark.django_db
def test_a_position_is_asked_about_once_per_revision() -> None:
    work = drive(make_thread(), 1).work
    with pytest.raises(IntegrityError), transaction.atomic():
        gates.request(work, [gate(work), gate(work)])
    assert status_of(work.thread) is Status.RUNNING
    opened(gate(work), gate(work, revision=1), work=work)


# --- deciding ---------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.requirement("A34")
@pytest.mark.parametrize(("verdict", "comment"), [("approve", ""), ("reject", "wrong price")])
def test_a_decision_is_recorded_once_and_wakes_the_thread_where_it_stopped(
    verdict: str, comment: str
) -> None:
    [row] = opened()
    head = one("SELECT head FROM gp_thread")
    decided = decide(row, verdict, comment=comment)
    assert (decided.status, decided.outcome, decided.comment) == ("settled", verdict, comment)
    assert (decided.decided_by, decided.decided_by_name) == ("user:2", "Mira")
    assert decided.decided_at is not None
    assert decided.effective_at is not None
    assert 0 <= (decided.effective_at - decided.decided_at).total_seconds() < 1
    assert not decided.open
    assert decided.args == row.args
    assert decided.proposal_hash == row.proposal_hash
    assert status_of(row.thread) is Status.QUEUED
    event = threads.events(row.thread).rows[0]
    assert (event.kind, event.actor) == ("approval.decided", "user:2")
    assert event.data["verdict"] == verdict
    assert event.data["proposal_hash"] == row.proposal_hash
    # The decision's row is what the event says, and the chain covers it.
    [(ident, salt, digest)] = rows("SELECT id, salt, hash FROM gp_decision")
    content = {
        "approval": str(row.id), "reviewer": "user:2", "verdict": verdict,
        "proposal_hash": row.proposal_hash, "comment": comment, "args": None,
    }  # fmt: skip
    assert sha256(bytes(salt) + deltas.canonical(content)).digest() == bytes(digest)
    assert (event.data["decision"], event.data["decision_hash"]) == (str(ident), digest.hex())
    assert verify_thread(row.thread).intact
    work = acquired(row.thread)
    assert (work.head, work.step, work.wake_seq) == (head, 1, 1)
    assert [a.outcome for a in queries.at_step(row.thread, branch=0, step=2)] == [verdict]
    assert queries.open_count(workspace=row.workspace) == 0


@pytest.mark.django_db
def test_the_second_decider_learns_what_the_first_decided() -> None:
    [row] = opened()
    decide(row, "reject", comment="wrong price")
    for verdict, more in (("approve", {}), ("reject", {"comment": "me too"})):
        with pytest.raises(AlreadyDecided, match="Mira already decided this request: reject") as e:
            decide(row, verdict, reviewer=OTHER, **more)
        assert (e.value.row.outcome, e.value.row.comment) == ("reject", "wrong price")
    with pytest.raises(AlreadyDecided):  # nor may the first one think again
        decide(row, "approve")
    assert one("SELECT count(*) FROM gp_decision") == 1
    assert kinds_of(row.thread).count("approval.decided") == 1


@pytest.mark.django_db
def test_a_decision_about_something_else_is_refused() -> None:
    [row] = opened()
    for seen in ("0" * 64, row.proposal_hash[:-1], row.proposal_hash.upper(), ""):
        with pytest.raises(ProposalChanged):
            decide(row, proposal_hash=seen)
    with pytest.raises(InvalidValue):
        decide(row, proposal_hash="a\0")
    assert untouched(row)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("verdict", "more", "path"),
    [
        ("reject", {"comment": ""}, "comment"),
        ("reject", {"comment": " \n"}, "comment"),
        ("reject", {"comment": "x" * 5_001}, "comment"),
        ("approve", {"comment": "a\0b"}, "comment"),
        ("approve", {"comment": "\ud800"}, "comment"),
        ("approve", {"args": {"report": "Other"}}, "args"),
    ],
)
def test_what_a_decision_must_not_carry_is_refused_with_its_place(
    verdict: str, more: dict[str, Any], path: str
) -> None:
    [row] = opened()
    with pytest.raises(InvalidValue) as caught:
        decide(row, verdict, **more)
    assert caught.value.path == path
    assert untouched(row)


@pytest.mark.django_db
def test_a_verdict_must_fit_the_request() -> None:
    [row] = opened()
    for verdict in ("take_back", "maybe", ""):
        with pytest.raises(VerdictRefused, match="approve, edit, respond, reject"):
            decide(row, verdict)
    assert untouched(row)


@pytest.mark.django_db
def test_an_answer_must_fit_the_schema_of_its_question() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    [row] = opened(lambda work: question(work, schema))
    assert not row.effect
    with pytest.raises(VerdictRefused, match="respond, reject"):
        decide(row, "approve")
    for args, path in (({"n": "x"}, "args.n"), ({}, "args"), ({"n": float("nan")}, "args.n")):
        with pytest.raises(InvalidValue) as caught:
            decide(row, "respond", args=args)
        assert caught.value.path == path
    assert untouched(row)
    answered = decide(row, "respond", args={"n": 7})
    assert (answered.outcome, answered.decided_args) == ("respond", {"n": 7})
    assert status_of(row.thread) is Status.QUEUED


@pytest.mark.django_db
def test_requests_of_other_workspaces_do_not_exist() -> None:
    [row] = opened()
    elsewhere = make_workspace()
    with pytest.raises(NotFound):
        queries.approval(row.id, workspace=elsewhere)
    with pytest.raises(NotFound):
        gates.decide(
            row.id, workspace=elsewhere, reviewer=MANAGER, verdict="approve",
            proposal_hash=row.proposal_hash,
        )  # fmt: skip
    with pytest.raises(NotFound):
        gates.decide(
            uuid4(), workspace=row.workspace, reviewer=MANAGER, verdict="approve",
            proposal_hash=row.proposal_hash,
        )  # fmt: skip
    assert queries.approvals(workspace=elsewhere).rows == ()
    assert queries.open_count(workspace=elsewhere) == 0
    assert untouched(row)


@pytest.mark.django_db
def test_several_gates_of_one_thread_are_decided_one_by_one() -> None:
    work = drive(make_thread(), 1).work
    first, second = opened(gate(work), gate(work, "publish#1"), work=work)
    decide(first)
    assert status_of(work.thread) is Status.QUEUED
    decide(second, "reject", comment="no")
    again = acquired(work.thread)
    assert again.wake_seq == 2
    result = queries.at_step(work.thread, branch=0, step=2)
    assert [row.outcome for row in result] == ["approve", "reject"]


@pytest.mark.django_db
def test_a_paused_thread_stays_paused_when_its_gate_is_decided() -> None:
    [row] = opened()
    store.pause(row.thread, actor=OPERATOR)
    decide(row)
    assert status_of(row.thread) is Status.PAUSED
    store.resume(row.thread, actor=OPERATOR)
    assert acquired(row.thread).wake_seq == 1


# --- ending without a verdict -----------------------------------------------------------------


@pytest.mark.django_db
def test_after_the_deadline_nobody_decides_and_the_thread_is_woken_once() -> None:
    work = drive(make_thread(), 1).work
    [row] = opened(gate(work, expires_in=0.0), work=work)
    with pytest.raises(AlreadyDecided, match="expired before your answer") as caught:
        decide(row)
    assert caught.value.row.status == "expired"
    assert gates.expire_due() == 0
    assert status_of(row.thread) is Status.QUEUED
    assert kinds_of(row.thread)[-1] == "approval.expired"
    assert one("SELECT count(*) FROM gp_decision") == 0
    with pytest.raises(AlreadyDecided):
        decide(row)


@pytest.mark.django_db
def test_the_sweep_expires_what_is_due_and_nothing_else() -> None:
    due, late, never = (
        opened(lambda work, s=seconds: gate(work, expires_in=s))[0] for seconds in (0.0, 3600, None)
    )
    assert gates.expire_due() == 1
    assert gates.expire_due() == 0
    assert [queries.approval(r.id, workspace=r.workspace).status for r in (due, late, never)] == [
        "expired", "pending", "pending",
    ]  # fmt: skip
    assert status_of(due.thread) is Status.QUEUED
    assert status_of(late.thread) is status_of(never.thread) is Status.WAITING
    assert decide(late).outcome == "approve"


@pytest.mark.django_db
def test_withdrawn_requests_cannot_be_decided_and_wake_nobody() -> None:
    work = drive(make_thread(), 1).work
    first, second = opened(gate(work), gate(work, "publish#1"), work=work)
    decide(first)
    store.pause(work.thread, actor=OPERATOR)
    assert gates.withdraw_open(work.thread, reason="The state was edited", actor=OPERATOR) == 1
    assert gates.withdraw_open(work.thread, reason="again", actor=OPERATOR) == 0
    assert status_of(work.thread) is Status.PAUSED
    with pytest.raises(AlreadyDecided, match="withdrawn"):
        decide(second)
    approval = queries.approval(second.id, workspace=second.workspace)
    assert (approval.status, approval.comment, approval.outcome) == (
        "withdrawn",
        "The state was edited",
        "",
    )
    assert queries.approval(first.id, workspace=first.workspace).outcome == "approve"
    assert kinds_of(work.thread)[-1] == "approval.withdrawn"


# --- the inbox --------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_inbox_comes_in_pages_without_gap_or_repetition() -> None:
    workspace, agent = make_workspace(), make_agent()
    made = []
    for _ in range(7):
        work = drive(make_thread(workspace=workspace, agent=agent), 1).work
        made.append(opened(gate(work), work=work)[0].id)
    results: list[UUID] = []
    after: UUID | None = None
    while True:
        page = queries.approvals(workspace=workspace, limit=3, after=after)
        results += [row.id for row in page.rows]
        if not page.next_cursor:
            break
        after = UUID(page.next_cursor)
    assert results == made  # the oldest first
    decide(queries.approval(made[0], workspace=workspace))
    assert queries.open_count(workspace=workspace) == 6
    assert [r.id for r in queries.approvals(workspace=workspace, status="decided").rows] == made[:1]
    assert len(queries.approvals(workspace=workspace, status="").rows) == 7


# --- races ------------------------------------------------------------------------------------


def raced(rounds: int) -> Sequence[ApprovalRow]:
    workspace, agent = make_workspace(), make_agent()
    return [
        opened(work=drive(make_thread(workspace=workspace, agent=agent), 1).work)[0]
        for _ in range(rounds)
    ]


@pytest.mark.slow
@pytest.mark.hazard
def test_of_approve_against_reject_exactly_one_wins(real_db: str) -> None:
    result = raced(100)
    answers = race(
        100,
        lambda n: decide(result[n], "approve", reviewer=MANAGER),
        lambda n: decide(result[n], "reject", reviewer=OTHER, comment="no"),
    )
    won = outcomes(answers, AlreadyDecided)
    assert sum(won) == 100
    assert min(won) > 0, won  # it was a race, not a queue
    for row, answer in zip(result, answers, strict=True):
        [winner] = [a for a in answer if isinstance(a, ApprovalRow)]
        [loser] = [a for a in answer if isinstance(a, AlreadyDecided)]
        stored = queries.approval(row.id, workspace=row.workspace)
        assert stored == winner == loser.row
        decisions = rows(
            "SELECT verdict, reviewer FROM gp_decision WHERE approval_id = %s::uuid", (row.id,)
        )
        assert decisions == [(stored.outcome, stored.decided_by)]
        assert kinds_of(row.thread).count("approval.decided") == 1
        assert status_of(row.thread) is Status.QUEUED
    assert one("SELECT count(*) FROM gp_decision") == 100


@pytest.mark.hazard
def test_a_decision_against_a_withdrawal_has_one_outcome(real_db: str) -> None:
    outcomes = raced(50)
    answers = race(
        50,
        lambda n: decide(outcomes[n]),
        lambda n: gates.withdraw_open(outcomes[n].thread, reason="edited", actor=OPERATOR),
    )
    decided = 0
    for row, (verdict, withdrawn) in zip(outcomes, answers, strict=True):
        stored = queries.approval(row.id, workspace=row.workspace)
        if isinstance(verdict, ApprovalRow):
            assert (withdrawn, stored.status) == (0, "settled")
            decided += 1
        else:
            assert isinstance(verdict, AlreadyDecided)
            assert (withdrawn, stored.status) == (1, "withdrawn")
    assert one("SELECT count(*) FROM gp_decision") == decided

"""Several people, in order, with four eyes; edits and questions."""

from __future__ import annotations

from typing import Any

import pytest

from approvals import queries
from approvals.errors import AlreadyDecided, FourEyes, NotYours, ProposalChanged, VotedAlready
from approvals.gates import Reviewer
from approvals.rules.terms import Seat, Terms, terms_of
from approvals.rules.votes import progress
from approvals.verification.proof import verify
from checkpoints import queries as threads
from checkpoints.errors import InvalidValue
from checkpoints.states import Status
from tests.unit.approvals.cast import (
    BOSS,
    LENA,
    MIRA,
    NEW,
    OMAR,
    let_pass,
    news,
    now,
    open_request,
    say,
    two,
)
from tests.unit.checkpoints.builders import kinds_of, one, status_of

pytestmark = pytest.mark.django_db


def last_event(row: Any) -> Any:
    return threads.events(row.thread).rows[0]


def test_the_second_of_two_people_settles_it() -> None:
    row = open_request(two())
    first = say(row, MIRA, comment="fine by me")
    assert first == now(row)
    assert (first.status, first.outcome, first.decided_by) == ("pending", "", "")
    assert status_of(row.thread) is Status.WAITING
    assert kinds_of(row.thread)[-1] == "decision.recorded"
    assert last_event(row).data["missing"] == 1
    [vote] = queries.votes(row.id)
    assert (vote.reviewer, vote.verdict, vote.counts, vote.comment) == (
        "user:2", "approve", True, "fine by me",
    )  # fmt: skip
    result = progress(terms_of(row.terms), [vote])
    assert (result.stage, result.got, result.needed, result.missing) == (1, 1, 2, 1)
    assert news("approval.decided") == 0

    second = say(row, OMAR)
    assert second == now(row)
    assert (second.status, second.outcome, second.decided_by) == ("settled", "approve", "user:3")
    assert second.decided_args is None
    assert status_of(row.thread) is Status.QUEUED
    assert [v.counts for v in queries.votes(row.id)] == [True, True]
    assert news("approval.decided") == 1
    assert verify(row.thread).intact


def test_one_person_counts_once_whatever_they_come_through() -> None:
    row = open_request(two())
    say(row, MIRA)
    for again in (MIRA, Reviewer("user:2/token:abcdefgh", "Mira (token ci)", "mira")):
        with pytest.raises(VotedAlready, match="counts once"):
            say(row, again)
    assert one("SELECT count(*) FROM gp_decision") == 1
    assert now(row).open


def test_stages_come_in_order_and_each_has_its_seats() -> None:
    terms = Terms(stages=(Seat(teams=("finance",), count=2), Seat(people=("boss",))))
    row = open_request(terms)
    with pytest.raises(NotYours, match="Team finance has to approve before you"):
        say(row, BOSS)
    with pytest.raises(NotYours, match="Team finance has to decide this"):
        say(row, LENA)
    say(row, MIRA)
    say(row, OMAR)
    with pytest.raises(NotYours, match="boss has to decide this"):
        say(row, LENA)
    assert say(row, BOSS).outcome == "approve"
    result = progress(terms, queries.votes(row.id))
    assert result.done_by == (("user:2", "user:3"), ("user:9",))


def test_one_of_them_is_enough_to_reject() -> None:
    row = open_request(two())
    say(row, MIRA)
    done = say(row, MIRA, "reject", comment="on second thought, no")
    assert (done.status, done.outcome) == ("settled", "reject")
    assert verify(row.thread).intact


def test_who_sits_in_no_stage_neither_rejects_nor_asks() -> None:
    row = open_request(Terms(stages=(Seat(people=("mira",)), Seat(people=("omar",)))))
    for verdict in ("reject", "respond"):
        with pytest.raises(NotYours):
            say(row, LENA, verdict, comment="why?")
    assert say(row, OMAR, "reject", comment="no").outcome == "reject"


# --- four eyes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", ["approve", "reject", "edit", "respond"])
def test_whoever_has_a_hand_in_it_is_refused_and_the_try_is_logged(verdict: str) -> None:
    row = open_request(Terms(four_eyes=True, barred=("user:2",)))
    more: dict[str, Any] = {"args": NEW} if verdict == "edit" else {"comment": "x"}
    for who in (MIRA, Reviewer("user:2/token:abcdefgh", "Mira (token ci)")):
        with pytest.raises(FourEyes, match="somebody else has to decide"):
            say(row, who, verdict, **more)
        event = last_event(row)
        assert (event.kind, event.actor) == ("decision.refused", who.id)
        assert event.data["verdict"] == verdict
    assert now(row) == row
    assert one("SELECT count(*) FROM gp_decision") == 0
    assert say(row, OMAR).outcome == "approve"
    assert verify(row.thread).intact


# --- edits -------------------------------------------------------------------------------------


@pytest.mark.requirement("D02")
def test_an_edit_by_the_only_reviewer_is_carried_out_as_edited() -> None:
    row = open_request()
    done = say(row, MIRA, "edit", args=NEW, comment="cheaper")
    assert done == now(row)
    assert (done.status, done.outcome, done.decided_args) == ("settled", "edit", NEW)
    assert (done.args, done.proposal_hash) == (row.args, row.proposal_hash)
    assert (done.standing_args, done.shown_args) == (NEW, NEW)
    assert done.standing_hash != row.standing_hash
    event = last_event(row)
    assert event.data["seen"] == row.standing_hash
    assert event.data["standing_hash"] == event.data["proposal_hash"] == done.standing_hash
    assert verify(row.thread).intact


def test_an_edit_makes_the_votes_so_far_void_and_says_so() -> None:
    row = open_request(Terms(stages=(Seat(count=3),)))
    say(row, MIRA)
    changed = say(row, OMAR, "edit", args=NEW)
    assert changed == now(row)
    assert (changed.status, changed.standing_args) == ("pending", NEW)
    assert last_event(row).data["void"] == 1
    assert last_event(row).data["missing"] == 2
    assert [v.counts for v in queries.votes(row.id)] == [False, True]
    with pytest.raises(ProposalChanged):
        say(row, LENA, proposal_hash=row.proposal_hash)
    say(row, LENA)
    done = say(row, MIRA)  # who is void may look again and agree
    assert (done.outcome, done.decided_args) == ("edit", NEW)
    assert last_event(row).data["outcome"] == "edit"
    assert done == now(row)
    assert verify(row.thread).intact


@pytest.mark.parametrize(
    ("args", "path"),
    [
        (None, "args"),
        ([], "args"),
        ({"report": "x"}, "args"),
        ({"report": "x", "price": 3}, "args.price"),
        ({"report": "x", "price": "1", "more": 1}, "args"),
        ({"report": "a\0", "price": "1"}, "args.report"),
        ({"report": "Tides", "price": "12.50"}, "args"),
    ],
)
def test_an_edit_must_fit_the_tool(args: Any, path: str) -> None:
    row = open_request()
    with pytest.raises(InvalidValue) as caught:
        say(row, MIRA, "edit", args=args)
    assert caught.value.path == path
    assert now(row) == row
    assert one("SELECT count(*) FROM gp_decision") == 0


# --- asking back -------------------------------------------------------------------------------


@pytest.mark.requirement("D02")
def test_a_question_wakes_the_agent_and_leaves_the_request_open() -> None:
    row = open_request()
    asking = say(row, MIRA, "respond", comment="Why so dear?")
    assert asking == now(row) == row
    assert status_of(row.thread) is Status.QUEUED
    event = last_event(row)
    assert (event.kind, event.data["verdict"]) == ("decision.recorded", "respond")
    assert event.data["comment"] == "Why so dear?"
    assert news("approval.decided") == 0
    with pytest.raises(InvalidValue, match="enter your question"):
        say(row, MIRA, "respond")
    assert say(row, MIRA).outcome == "approve"
    assert verify(row.thread).intact


# --- what next ---------------------------------------------------------------------------------


@pytest.mark.requirement("D02")
@pytest.mark.parametrize("what_next", ["stop", "roll_back"])
def test_a_rejection_can_end_the_thread_in_the_same_transaction(what_next: str) -> None:
    row = open_request()
    done = say(row, MIRA, "reject", comment="enough", what_next=what_next)
    assert (done.status, done.what_next) == ("settled", what_next)
    assert done == now(row)
    # Nothing was done outside, so there is nothing to undo first.
    assert status_of(row.thread) is Status.CANCELLED
    assert kinds_of(row.thread)[-2:] == ["approval.decided", "thread.cancelled"]
    assert last_event(row).data["reason"] == "enough"
    assert verify(row.thread).intact


def test_what_next_belongs_to_a_rejection() -> None:
    row = open_request()
    for verdict, what_next in (("approve", "stop"), ("reject", "explode")):
        with pytest.raises(InvalidValue) as caught:
            say(row, MIRA, verdict, comment="no", what_next=what_next)
        assert caught.value.path == "what_next"
    assert say(row, MIRA, "reject", comment="no", what_next="go_on").what_next == "go_on"
    assert status_of(row.thread) is Status.QUEUED


def test_nobody_votes_after_the_deadline() -> None:
    row = open_request(two(), expires_in=3600.0)
    say(row, MIRA)
    let_pass(row)
    with pytest.raises(AlreadyDecided, match="expired"):
        say(row, OMAR)
    assert now(row).status == "expired"


def test_what_one_reviewer_decides_takes_few_statements(
    django_assert_max_num_queries: Any,
) -> None:
    row = open_request(Terms(stages=(Seat(people=("mira",)),)))
    # A savepoint and its release stand for BEGIN and COMMIT; the lock brings the request with it.
    with django_assert_max_num_queries(6):
        say(row, MIRA, proposal_hash=row.standing_hash)

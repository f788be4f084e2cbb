"""Deputies at the gate: who may act for whom, both names on record, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Group

from approvals import gates, queries
from approvals.deputies.changes import Period, hand_over, name_deputy, remove_deputy
from approvals.errors import FourEyes, NotYours, VotedAlready
from approvals.gates import Reviewer, validity
from approvals.notify.fan_out import _called
from approvals.notify.recipients import deciders
from approvals.queries import ApprovalRow, deputies
from approvals.rules.terms import Seat, Terms
from approvals.verification.proof import verify
from checkpoints import queries as threads
from checkpoints import store
from checkpoints.chain import verify_workspace
from checkpoints.errors import InvalidValue, NotAllowedNow, NotFound
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene
from tests.unit.dashboard.records.integrity.altered_columns import unguarded

from .cast import now, say

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G08")]
__all__ = ["unguarded"]

FINANCE = Terms(stages=(Seat(teams=("finance",)),))
TOMORROW = Period(None, datetime(2999, 1, 1, tzinfo=UTC))


def week() -> Period:
    return Period(None, datetime.now(UTC) + timedelta(days=7))


@pytest.fixture
def money(cast: Cast) -> Cast:
    """The manager is of the team finance, the second manager is not."""
    cast.users["manager"].groups.add(Group.objects.create(name="finance"))
    return cast


def ident(cast: Cast, name: str) -> str:
    return f"user:{cast.users[name].pk}"


def who(cast: Cast, name: str) -> Reviewer:
    user = cast.users[name]
    teams = tuple(user.groups.values_list("name", flat=True))
    return Reviewer(ident(cast, name), name, name, teams)


def waiting_request(cast: Cast, terms: Terms = FINANCE) -> ApprovalRow:
    return scene.waiting(cast.workspace, scene.make_agent(), terms=terms)


def out(cast: Cast, person: str = "manager", deputy: str = "second_manager", **more: Any) -> UUID:
    period = more.pop("period", None) or week()
    ids = ident(cast, person), ident(cast, deputy)
    return name_deputy(cast.workspace, *ids, period, reason="out", actor=ids[0])


def handed(cast: Cast, row: ApprovalRow, to: str = "second_manager") -> UUID:
    me = ident(cast, "manager")
    return hand_over(row.id, workspace=row.workspace, person=me, actor=me, to=to, reason="yours")


def notified(cast: Cast, row: ApprovalRow) -> list[str]:
    people = deciders(cast.workspace)
    return [one.name for one in _called(people, "approval.requested", row.id, row.workspace, 0, "")]


def test_a_deputy_decides_and_both_names_are_on_record(money: Cast) -> None:
    row = waiting_request(money)
    deputy = who(money, "second_manager")
    with pytest.raises(NotYours):
        say(row, deputy)
    assert notified(money, row) == ["manager"]
    out(money)
    assert notified(money, row) == ["second_manager"]
    done = say(row, deputy, comment="fine")
    assert (done.outcome, done.decided_by) == ("approve", deputy.id)
    assert done.decided_by_name == "second_manager for manager"
    [vote] = queries.votes(row.id)
    assert (vote.reviewer, vote.for_person) == (deputy.id, ident(money, "manager"))
    event = threads.events(row.thread).rows[0]
    assert event.data["by_name"] == "second_manager for manager"
    assert event.data["for"] == ident(money, "manager")
    assert verify(row.thread).intact
    assert verify_workspace(money.workspace).intact


@pytest.mark.usefixtures("unguarded")
def test_whose_place_was_taken_cannot_be_altered(money: Cast) -> None:
    row = waiting_request(money)
    out(money)
    say(row, who(money, "second_manager"))
    rows("UPDATE gp_decision SET for_person = '' WHERE approval_id = %s RETURNING 1", [row.id])
    assert "was altered" in verify(row.thread).what


def test_the_right_ends_with_the_time_and_with_that_of_the_person(money: Cast) -> None:
    row, workspace = waiting_request(money), money.workspace
    start = datetime.now(UTC) + timedelta(days=1)
    later = out(money, period=Period(start, start + timedelta(days=1)))
    deputy = who(money, "second_manager")
    with pytest.raises(NotYours):
        say(row, deputy)
    remove_deputy(later, workspace=workspace, actor=deputy.id)
    out(money)
    user = money.users["manager"].pk
    store.withdraw(workspace, user, "reviewer", actor="user:0")
    assert deputies.mandates(workspace, deputy.id) == ()
    store.grant(workspace, user, "reviewer", actor="user:0")
    done = say(row, deputy)
    assert validity.doubts(done) == ""
    # What the deputy decided happens only while both may still decide.
    store.withdraw(workspace, user, "reviewer", actor="user:0")
    assert "may no longer decide here" in validity.doubts(done)
    store.grant(workspace, user, "reviewer", actor="user:0")
    store.withdraw(workspace, money.users["second_manager"].pk, "reviewer", actor="user:0")
    assert "second_manager for manager" in validity.doubts(done)


def test_four_eyes_and_one_vote_look_at_the_person_who_acts(money: Cast) -> None:
    deputy = who(money, "second_manager")
    out(money)
    barred = waiting_request(money, Terms(stages=FINANCE.stages, barred=(deputy.id,)))
    with pytest.raises(FourEyes):
        say(barred, deputy)
    starter = waiting_request(
        money, Terms(stages=FINANCE.stages, barred=(ident(money, "manager"),))
    )
    with pytest.raises(NotYours):
        say(starter, deputy)
    two = waiting_request(money, Terms(stages=(Seat(teams=("finance",), count=2),)))
    assert say(two, deputy).open
    with pytest.raises(VotedAlready):
        say(two, deputy)
    with pytest.raises(NotYours, match="second_manager for manager has approved this for you"):
        say(two, who(money, "manager"))
    assert verify(two.thread).intact


def test_a_deputy_edits_and_takes_back_as_a_deputy(money: Cast) -> None:
    terms = Terms(stages=(Seat(teams=("finance",), count=2),), undo_window=600)
    row, deputy = waiting_request(money, terms), who(money, "second_manager")
    named = out(money)
    say(row, deputy)
    say(row, deputy, "edit", args={"report": "new"})
    assert [v.for_person for v in queries.votes(row.id) if v.counts] == [ident(money, "manager")]
    remove_deputy(named, workspace=row.workspace, actor=deputy.id)
    with pytest.raises(NotYours, match="you are no longer one"):
        say(row, deputy, "edit", args={"report": "newer"})
    one = waiting_request(money, Terms(stages=FINANCE.stages, undo_window=600))
    out(money)
    assert say(one, deputy).status == "held"
    gates.take_back(one.id, workspace=one.workspace, reviewer=deputy)
    assert now(one).open
    assert verify(one.thread).intact


def test_a_request_is_handed_over_and_taken_back(money: Cast) -> None:
    row, workspace = waiting_request(money), money.workspace
    deputy, owner = who(money, "second_manager"), ident(money, "manager")
    first = handed(money, row)
    event = threads.events(row.thread).rows[0]
    assert event.kind == "turn.handed_over"
    assert (event.data["person_name"], event.data["deputy_name"]) == ("manager", "second_manager")
    assert deputies.acts_for(workspace, owner).handed_over == (row.id,)
    ((to,),) = rows("SELECT data ->> 'to' FROM gp_outbox WHERE kind = 'approval.turn'")
    assert to == deputy.id
    # Only this one request.
    with pytest.raises(NotYours):
        say(waiting_request(money), deputy)
    remove_deputy(first, workspace=workspace, actor=owner)
    with pytest.raises(NotYours):
        say(row, deputy)
    with pytest.raises(NotFound):
        remove_deputy(first, workspace=workspace, actor=owner)
    handed(money, row)
    handed(money, row)  # takes the place of the former
    assert len(deputies.listed(workspace)) == 1
    assert say(row, deputy).decided_by_name == "second_manager for manager"
    assert deputies.listed(workspace) == []
    assert verify(row.thread).intact
    assert verify_workspace(workspace).intact


def test_what_cannot_be_handed_over(money: Cast) -> None:
    deputy = ident(money, "second_manager")
    with pytest.raises(FourEyes, match="second_manager"):
        handed(money, waiting_request(money, Terms(stages=FINANCE.stages, barred=(deputy,))))
    with pytest.raises(FourEyes):
        handed(money, waiting_request(money, Terms(barred=(ident(money, "manager"),))))
    with pytest.raises(NotYours, match="not your turn"):
        handed(money, waiting_request(money, Terms(stages=(Seat(people=("second_manager",)),))))
    needed = Terms(stages=(Seat(teams=("finance",)), Seat(people=("second_manager",))))
    with pytest.raises(NotAllowedNow, match="later stage"):
        handed(money, waiting_request(money, needed))
    row = waiting_request(money)
    for to in ("manager", "operator", "stranger", "nobody"):
        with pytest.raises(InvalidValue):
            handed(money, row, to)
    say(row, who(money, "manager"))
    with pytest.raises(NotAllowedNow, match="closed"):
        handed(money, row)


def test_deputies_that_are_refused(money: Cast) -> None:
    out(money)
    begins = datetime.now(UTC) + timedelta(days=3)
    with pytest.raises(InvalidValue, match="second_manager is the deputy from"):
        out(money, period=Period(begins, begins + timedelta(days=9)))
    with pytest.raises(InvalidValue, match="somebody else"):
        out(money, deputy="manager")
    for person, deputy in (("operator", "manager"), ("second_manager", "stranger")):
        with pytest.raises(InvalidValue, match="active reviewer"):
            out(money, person, deputy)
    for period in (
        Period(begins, begins),
        Period(None, datetime(2020, 1, 1, tzinfo=UTC)),
        TOMORROW,
    ):
        with pytest.raises(InvalidValue):
            out(money, "second_manager", "manager", period=period)

"""Whose turn it is: a later stage hears of its beginning, an earlier one that it begins again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from approvals import gates
from approvals import queries as requests
from approvals.notify.fan_out import spread
from approvals.notify.sender import Sender
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from checkpoints import store
from tests.support.cast import Cast
from tests.unit.approvals.news import endpoint, open_request, tell
from tests.unit.approvals.post import Hook, Mailbox

pytestmark = pytest.mark.usefixtures("loopback")


def vote(people: Cast, row: ApprovalRow, name: str, verdict: str = "approve", **more: Any) -> None:
    user = people.users[name]
    seen = requests.approval(row.id, workspace=row.workspace).standing_hash
    teams = tuple(user.groups.values_list("name", flat=True))
    gates.decide(
        row.id,
        workspace=row.workspace,
        reviewer=gates.Reviewer(f"user:{user.pk}", name, name, teams),
        verdict=verdict,
        proposal_hash=seen,
        **more,
    )


def subjects(box: Mailbox) -> list[str]:
    """Whom the mails since the last look went to, by user name."""
    Sender().drain()
    results = sorted(to.partition("@")[0] for to, _ in box.mails)
    box.mails.clear()
    return results


def test_a_later_stage_is_told_when_its_turn_has_come(
    people: Cast, box: Mailbox, hook: Hook
) -> None:
    """Once, in the transaction of the vote that completes the stage before; not those before."""
    team = Group.objects.create(name="finance")
    third = people.users["operator"]
    store.grant(people.workspace, third.pk, "reviewer", actor="user:0")
    for user in (people.users["second_manager"], third):
        user.groups.add(team)
    endpoint(people, "email")
    endpoint(people, "webhook", hook.url)
    stages = (Seat(count=2), Seat(teams=("finance",)))
    row = open_request(people, terms=Terms(stages=stages), title="Pay the harbour")

    vote(people, row, "manager")
    assert subjects(box) == []  # the first stage wants two
    hook.got.clear()
    vote(people, row, "second_manager")
    Sender().drain()
    assert box.mails[0][1]["Subject"] == "Your turn to approve: Pay the harbour"
    assert "Approved so far: 2 of 3 people" in box.text()
    # Who has approved before needs no word, also where they sit in the next stage as well.
    assert subjects(box) == ["operator"]
    [body] = [json.loads(one.body) for one in hook.got]
    assert body["type"] == "approval.turn"
    assert (body["data"]["stage"], body["data"]["stages"]) == (2, 2)
    for _ in range(2):  # a restart, a question, another look: no second word
        Sender().drain()
        spread()
    vote(people, row, "operator", "respond", comment="Which harbour?")
    assert subjects(box) == []
    # An edit asks everybody anew: first the first stage, then the second one's turn comes again.
    args = {**row.args, "amount": "1"}
    vote(people, row, "manager", "edit", args=args)
    assert subjects(box) == ["operator", "second_manager"]
    vote(people, row, "second_manager")
    assert subjects(box) == ["operator"]
    vote(people, row, "operator")
    assert subjects(box) == []
    assert turns(row) == 3


def test_an_edit_in_a_later_stage_tells_the_first_that_it_is_their_turn_again(
    people: Cast, box: Mailbox, hook: Hook
) -> None:
    """Once, and nobody whose turn it is not; the second stage then hears of its turn anew."""
    for name, team in (("manager", "harbour"), ("second_manager", "harbour"), ("operator", "till")):
        people.users[name].groups.add(Group.objects.get_or_create(name=team)[0])
    for name in ("operator", "auditor"):
        user = people.users[name]
        store.grant(people.workspace, user.pk, "reviewer", actor="user:0")
    people.users["auditor"].groups.add(Group.objects.get(name="till"))
    endpoint(people, "email")
    endpoint(people, "webhook", hook.url, events=["approval.turn"])
    stages = (Seat(count=2, teams=("harbour",)), Seat(count=2, teams=("till",)))
    row = open_request(people, terms=Terms(stages=stages), title="Pay the pilot")

    vote(people, row, "manager")
    vote(people, row, "second_manager")
    vote(people, row, "operator")
    assert subjects(box) == ["auditor"]  # the operator has voted by the time it is sent
    hook.got.clear()
    vote(people, row, "auditor", "edit", args={**row.args, "amount": "2"})
    Sender().drain()
    assert "Changed: it was edited; earlier approvals no longer count" in box.text()
    assert "Approved so far: 1 of 4 people" in box.text()
    assert subjects(box) == ["manager", "second_manager"]
    [body] = [one.json for one in hook.got]
    assert (body["type"], body["data"]["stage"]) == ("approval.turn", 1)
    assert body["data"]["void"] == 3
    for _ in range(2):
        Sender().drain()
        spread()
    assert subjects(box) == []
    assert len(hook.got) == 1
    # Another edit where the turn stays is no news of a turn; the editor's own vote stands.
    vote(people, row, "manager", "edit", args={**row.args, "amount": "3"})
    assert subjects(box) == []
    vote(people, row, "second_manager")
    assert subjects(box) == ["auditor", "operator"]
    assert turns(row) == 3


def turns(row: ApprovalRow) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM gp_outbox WHERE approval_id = %s AND kind = 'approval.turn'",
            [row.id],
        )
        return int(cursor.fetchone()[0])


def test_one_stage_has_no_turns(people: Cast) -> None:
    row = open_request(people, terms=Terms(stages=(Seat(count=2),)))
    vote(people, row, "manager")
    vote(people, row, "second_manager")
    assert turns(row) == 0


def test_a_reminder_spares_whoever_has_approved(people: Cast, box: Mailbox) -> None:
    endpoint(people, "email")
    row = open_request(people, terms=Terms(stages=(Seat(count=2),)))

    def reminded() -> set[str]:
        box.mails.clear()
        tell(row, "approval.reminder")
        Sender().drain()
        return {to.partition("@")[0] for to, _ in box.mails}

    assert reminded() == {"manager", "second_manager"}
    assert "Approved so far: 0 of 2 people" in box.text()
    gates.decide(
        row.id,
        workspace=row.workspace,
        reviewer=gates.Reviewer(f"user:{people.users['manager'].pk}/token:abcdefgh", "manager"),
        verdict="approve",
        proposal_hash=row.standing_hash,
    )
    assert reminded() == {"second_manager"}
    assert "Approved so far: 1 of 2 people" in box.text()

"""The decision page without a browser: revisions, operations, seats, what each person may do."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Group

from approvals import gates, queries
from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from checkpoints import queries as past
from checkpoints.records import Position
from checkpoints.states import EventKind
from checkpoints.views import CheckpointRow
from dashboard import errors
from dashboard.approvals import evidence
from dashboard.approvals.reviewers import progress_of
from dashboard.threads.fork import fork
from dashboard.threads.rename import RENAME, Rename
from dashboard.threads.roll_back import roll_back
from dashboard.wording.parties import recognised
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from workers.node import approval_gates as engine


def text_of(html: str) -> str:
    """What a reader sees of a page."""
    main = html.partition("<main")[2].partition("</main>")[0]
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", main)))


def look(cast: Cast, row: ApprovalRow, name: str = "manager") -> str:
    answer = cast.client(name).get(f"/approvals/{row.id}/")
    assert answer.status_code == 200
    return text_of(answer.content.decode())


def decide(cast: Cast, row: ApprovalRow, name: str, verdict: str, **more: Any) -> ApprovalRow:
    who, approval = cast.actor(name), queries.approval(row.id, workspace=row.workspace)
    return gates.decide(
        row.id,
        workspace=row.workspace,
        reviewer=gates.Reviewer(who.id, who.name, name),
        verdict=verdict,
        proposal_hash=approval.standing_hash,
        **more,
    )


def waiting(cast: Cast, **more: Any) -> ApprovalRow:
    return scene.waiting(cast.workspace, scene.make_agent(), **more)


def test_a_request_that_came_back_shows_what_changed_and_why(cast: Cast) -> None:
    first = waiting(cast, args={"to": "Ada", "amount": "10.00"})
    decide(cast, first, "manager", "approve")
    work = scene.lease(first.thread)
    again = scene.gate(work, args={"to": "Eve", "amount": "10.00"}, revision=1)
    shown = look(cast, again)
    assert "This request was asked again. It was approved before, and nothing was done" in shown
    assert "the arguments have changed since" in shown
    assert "~ 1 changed" in shown
    assert '"Ada" "Eve"' in shown
    payload = cast.client("manager").get(f"/api/v1/approvals/{again.id}/").json()
    assert payload["former"]["id"] == str(first.id)
    assert payload["former"]["proposal"] == first.args
    assert "arguments have changed" in payload["former"]["why"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"status": "expired", "outcome": ""}, "The previous request expired"),
        ({"status": "withdrawn", "outcome": "", "comment": "edited"}, "withdrawn: edited"),
        ({}, "no longer counted"),
        ({"policy_version": "x@2"}, "another policy"),
    ],
)
def test_why_a_request_came_back(cast: Cast, change: dict[str, Any], words: str) -> None:
    row = decide(cast, waiting(cast), "manager", "approve")
    before = replace(row, **change)
    assert words in evidence.reappeared(replace(row, revision=1), before)


def test_what_the_engine_says_of_it_comes_first(cast: Cast) -> None:
    assert evidence.AGAIN == engine.AGAIN
    first = decide(cast, waiting(cast, args={"to": "Ada"}), "manager", "approve")
    text = f"{engine.AGAIN}ada may not decide any more.\n\nInvoice 7 of May."
    again = scene.gate(scene.lease(first.thread), revision=1, description=text)
    shown = look(cast, again)
    assert "Nothing was done under the previous request: ada may not decide any more." in shown
    assert shown.count("ada may not decide any more.") == 1
    assert "Invoice 7 of May." in shown
    assert engine.AGAIN not in shown


def test_a_title_that_does_not_fit_says_so(cast: Cast) -> None:
    row = waiting(cast, title="x" * 300)
    assert row.title == "x" * 300
    row = waiting(cast, title="y" * 301)
    assert row.title == "y" * 299 + "…"


def test_an_operation_says_who_asked_and_what(cast: Cast) -> None:
    asker = cast.actor("operator")
    row = waiting(
        cast,
        kind="operation",
        tool="roll_back",
        title="Roll back “Delays”",
        undo="",
        position=Position(0, 2, "(people)", 0, "roll_back:1"),
        args={
            "arguments": {"checkpoint_id": "c-1", "reason": "wrong data", "compensate": True},
            "asked_by": asker.person,
            "asked_by_name": "operator",
        },
        terms=Terms(four_eyes=True, barred=(asker.person,)),
    )
    shown = look(cast, row)
    for words in (
        "What operator wants to do", "Roll back the thread: effects after", "wrong data",
        "Undo effects", "yes", "Asked by operator", "A second person has to approve", "Four eyes",
    ):  # fmt: skip
        assert words in shown, words
    for words in ("The agent’s reasons", "Edit first", "Ask the agent", "What should happen next?"):
        assert words not in shown, words


def requested_rollback(cast: Cast) -> tuple[ApprovalRow, CheckpointRow]:
    """The request to roll a thread back over a payment and a mail, and its checkpoint."""
    four = Draft("Rollbacks", "operation == 'roll_back'")
    policies.make(cast.workspace, four, actor="user:9")
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    scene.step(work, report="draft")
    scene.effect(work, key="pay:0", sentence="Pay ACME 12.50 EUR")
    scene.effect(work, key="mail:0", sentence="Mail ACME", undo="")
    scene.step(work, report="paid", leave_by=EventKind.THREAD_SUCCEEDED)
    target = past.checkpoint_by_number(work.thread, 1)
    with pytest.raises(errors.NeedsSecondPerson):
        roll_back(cast.actor("operator"), work.thread, target.id, reason="wrong")
    (row,) = queries.for_thread(work.thread, open_only=True)
    return row, target


def test_a_rollback_shows_its_checkpoint_and_each_effect_that_it_undoes(cast: Cast) -> None:
    row, target = requested_rollback(cast)
    shown = look(cast, row)
    for words in (
        f"#1 {target.nodes[0]}", "External actions to undo, most recent first",
        "Pay ACME 12.50 EUR", "publish → unpublish", "Mail ACME",
    ):  # fmt: skip
        assert words in shown, words
    assert shown.index("Mail ACME") < shown.index("Pay ACME")
    part = shown.partition("What operator wants to do")[2].partition("What exactly")[0]
    assert str(target.id) not in part
    decisions.decide(cast.actor("manager"), row.id, "approve", row.proposal_hash, "", None)
    decided = queries.approval(row.id, workspace=cast.workspace)
    assert "External actions to undo" not in look(cast, decided)


def test_a_rollback_of_a_thread_that_moved_on_says_that_it_cannot_be_done(cast: Cast) -> None:
    row, _ = requested_rollback(cast)
    RENAME.run(cast.actor("operator"), Rename(title="Another title"), row.thread)
    shown = look(cast, row)
    assert "The thread has changed since this was requested." in shown
    assert "External actions to undo" not in shown


def test_a_fork_that_needs_a_second_person_is_asked_for_and_told(cast: Cast) -> None:
    four = Draft("Forks", "operation == 'fork'", note="A fork costs money")
    policies.make(cast.workspace, four, actor="user:9")
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    scene.step(work, report="draft", leave_by=EventKind.THREAD_SUCCEEDED)
    first = past.checkpoint_by_number(work.thread, 0).id
    asker = cast.actor("operator")
    with pytest.raises(errors.NeedsSecondPerson):
        fork(asker, work.thread, first, {"goal": "weather"}, reason="compare")
    (row,) = queries.for_thread(work.thread, open_only=True)
    shown = look(cast, row)
    for words in (
        "What operator wants to do", "Fork the thread: a new thread begins", "compare",
        "New values", "weather", "asks for it: A fork costs money.", "Version 1.",
    ):  # fmt: skip
        assert words in shown, words
    client = cast.client("manager")
    form = {"verdict": "approve", "confirmed": "1", "proposal_hash": row.standing_hash}
    answer = client.post(f"/approvals/{row.id}/decide/", form)
    assert answer.status_code == 303, text_of(answer.content.decode())
    shown = look(cast, row)
    assert "Done: the new thread is" in shown
    assert "Not resumed yet" not in shown


def test_each_person_is_told_what_they_may_do(cast: Cast) -> None:
    barred = cast.actor("manager").person
    four = waiting(cast, terms=Terms(four_eyes=True, barred=(barred,)))
    assert "Four eyes: you took part in this thread" in look(cast, four)
    assert "Four eyes: you took part" not in look(cast, four, "second_manager")

    seat = waiting(cast, terms=Terms(stages=(Seat(teams=("finance",)),)))
    assert "This is for team finance to decide." in look(cast, seat)
    Group.objects.create(name="finance").user_set.add(cast.users["manager"])
    assert "This is for team finance" not in look(cast, seat)

    order = waiting(cast, terms=Terms(stages=(Seat(people=("second_manager",)), Seat())))
    assert "second_manager must approve before you." in look(cast, order)

    two = waiting(cast, terms=Terms(stages=(Seat(count=2),)))
    decide(cast, two, "manager", "approve", comment="fine")
    shown = look(cast, two)
    assert "You have approved. Somebody else is still needed." in shown
    assert "1 of 2" in shown
    assert "1 of 2" in look(cast, two, "auditor")
    assert "Needs the role reviewer." in look(cast, two, "auditor")
    api = cast.client("manager").get(f"/api/v1/approvals/{two.id}/").json()
    assert api["decide"] == {
        "allowed": False,
        "why": "You have approved. Somebody else is still needed.",
    }
    assert (api["progress"]["got"], api["progress"]["needed"]) == (1, 2)


def test_only_who_decided_is_offered_to_take_it_back(cast: Cast) -> None:
    row = waiting(cast, terms=Terms(undo_window=600))
    client = cast.client("manager")
    form = {"verdict": "approve", "proposal_hash": row.proposal_hash}
    answer = client.post(f"/approvals/{row.id}/decide/", form, follow=True)
    assert "You can undo this for 600 seconds." in answer.content.decode()
    assert "Undo decision" in look(cast, row)
    other = look(cast, row, "second_manager")
    assert "Undo decision" not in other
    assert "manager can undo it" in other
    answer = client.post(f"/approvals/{row.id}/take-back/", follow=True)
    assert "the request is open again" in answer.content.decode()
    assert queries.approval(row.id, workspace=row.workspace).open


def test_escalation_is_told_before_and_after(cast: Cast) -> None:
    terms = Terms(on_expiry="escalate", escalate_to=Seat(teams=("treasury",)), escalate_for=3600)
    row = waiting(cast, terms=terms, expires_in=600.0)
    assert "Then it escalates to team treasury for 1 h 00, and expires after that." in look(
        cast, row
    )
    plain = waiting(cast, expires_in=600.0)
    assert "Then it expires" in look(cast, plain)
    reject = waiting(cast, terms=Terms(on_expiry="reject"), expires_in=600.0)
    assert "Then it counts as rejected." in look(cast, reject)


def test_each_stage_shows_the_votes_that_the_gate_counted_in_it(cast: Cast) -> None:
    row = waiting(cast, terms=Terms(stages=(Seat(count=2), Seat(people=("ada",)))))
    for name in ("manager", "second_manager"):
        decide(cast, row, name, "approve")
    approval = queries.approval(row.id, workspace=row.workspace)
    now = progress_of(approval, queries.votes(row.id))
    assert [(len(s.votes), s.open, s.now) for s in now.stages] == [(2, 0, False), (0, 1, True)]
    assert now.last
    assert (now.got, now.needed) == (2, 3)


@pytest.mark.parametrize(
    ("args", "payee", "account"),
    [
        ({"creditor": "Ada", "iban": "DE1"}, "Ada", "DE1"),
        ({"payment": {"payee": {"name": "Ada"}, "account": "7"}}, "Ada", "7"),
        ({"to": ["a", "b"]}, "", ""),
        ({"to": "x" * 300}, "", ""),
        ([1], "", ""),
    ],
)
def test_a_payee_is_read_not_guessed(args: Any, payee: str, account: str) -> None:
    result = recognised(args)
    assert (result.payee, result.account) == (payee, account)

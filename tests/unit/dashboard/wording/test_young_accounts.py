"""A vote by an account that a participant has just made is marked wherever votes are shown."""

from __future__ import annotations

from html import unescape
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from approvals.models import Decision
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from dashboard.identity.administrator import administrator_of
from dashboard.identity.permissions import actor_of
from dashboard.people.accounts import administration
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db
MARK = "Account created by admin "
TWO = Terms(stages=(Seat(count=2),))


def person(cast: Cast, name: str) -> str:
    return f"user:{cast.users[name].pk}"


def second_account(cast: Cast, *, days: float) -> Any:
    """A reviewer whom the admin made that long ago."""
    who = administrator_of(cast.users["admin"])
    made = administration.create_user(who, "twin", password="correct horse 9", roles=["reviewer"])
    rows(
        "UPDATE auth_user SET date_joined = now() - make_interval(secs => %s) WHERE id = %s "
        "RETURNING 1", (days * 86_400, made.pk),
    )  # fmt: skip
    return get_user_model().objects.get(pk=made.pk)


def request_of(cast: Cast, agent: UUID, starter: str, **more: Any) -> ApprovalRow:
    work = scene.lease(scene.start(cast.workspace, agent, by=person(cast, starter)))
    scene.step(work, report="draft")
    return scene.gate(work, **more)


def marks(cast: Cast, row: ApprovalRow) -> list[str]:
    """What page, API and records say of each vote; they agree."""
    client: Client = cast.client("auditor")
    page = unescape(client.get(f"/approvals/{row.id}/").content.decode())
    votes = client.get(f"/api/v1/approvals/{row.id}/").json()["votes"]
    listed = [vote["account"] for vote in votes]
    for text in filter(None, listed):
        assert text in page
    assert page.count("Account created by") >= len(list(filter(None, listed)))
    assert ("Account created by" in page) == any(listed)
    decisions = Decision.objects.filter(approval_id=row.id).order_by("at", "id")
    for decision, text in zip(decisions, listed, strict=True):
        record = client.get(f"/admin/approvals/decision/{decision.pk}/change/").content.decode()
        assert ("Account created by" in record) == bool(text)
        assert text in unescape(record)
    return listed


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (0, "less than a day before this vote."),
        (1.5, "1 day before this vote."),
        (29.9, "29 days before this vote."),
    ],
)
def test_a_vote_by_an_account_that_the_starter_made_is_marked(
    cast: Cast, agent: UUID, days: float, text: str
) -> None:
    twin = second_account(cast, days=days)
    row = request_of(cast, agent, "admin")
    decisions.decide(actor_of(twin), row.id, "approve", row.standing_hash)
    assert marks(cast, row) == [MARK + text]


def test_an_old_account_and_an_outsiders_one_are_not_marked(cast: Cast, agent: UUID) -> None:
    twin = second_account(cast, days=30.1)
    row = request_of(cast, agent, "admin")
    decisions.decide(actor_of(twin), row.id, "approve", row.standing_hash)
    assert marks(cast, row) == [""]
    rows("UPDATE auth_user SET date_joined = now() WHERE id = %s RETURNING 1", (twin.pk,))
    other = request_of(cast, agent, "operator")
    decisions.decide(actor_of(twin), other.id, "approve", other.standing_hash)
    assert marks(cast, other) == [""]


def test_who_is_barred_or_votes_as_well_is_a_participant(cast: Cast, agent: UUID) -> None:
    twin = second_account(cast, days=2)
    barred = Terms(stages=(Seat(),), barred=(person(cast, "admin"),))
    row = request_of(cast, agent, "operator", terms=barred, policy_version="p@1")
    decisions.decide(actor_of(twin), row.id, "approve", row.standing_hash)
    assert marks(cast, row) == [f"{MARK}2 days before this vote."]
    rows(
        "INSERT INTO gp_membership (workspace_id, user_id, role) VALUES (%s, %s, 'reviewer') "
        "RETURNING 1", (cast.workspace, cast.users["admin"].pk),
    )  # fmt: skip
    both = request_of(cast, agent, "operator", terms=TWO, policy_version="p@1")
    decisions.decide(actor_of(twin), both.id, "approve", both.standing_hash)
    assert marks(cast, both) == [""]
    decisions.decide(cast.actor("admin"), both.id, "approve", both.standing_hash)
    assert marks(cast, both) == [f"{MARK}2 days before this vote.", ""]

"""Who leaves by SCIM: what they hold ends at once, what they began to decide counts no more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from approvals import queries as approvals
from approvals.deputies.changes import Period, name_deputy
from approvals.gates import validity
from approvals.notify import devices
from approvals.notify.devices import Subscribed
from approvals.notify.recipients import deciders
from approvals.queries import deputies
from approvals.rules.terms import Seat, Terms
from dashboard.identity import tokens
from dashboard.identity.permissions import actor_of
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.approvals.notify.test_push import Browser
from tests.unit.dashboard import scene
from tests.unit.dashboard.people.scim.test_scim import Directory, directory, sound

pytestmark = pytest.mark.django_db
__all__ = ("directory",)
WAYS = ("inactive", "deleted", "removed", "group deleted")
TWO = Terms(stages=(Seat(count=2),))


class Leaver:
    """Somebody of the directory who may decide, and each way in which they leave."""

    def __init__(self, directory: Directory) -> None:
        self.directory, self.made = directory, directory.add("leaver")
        self.group = directory.group("leads", self.made)

    @property
    def user(self) -> Any:
        return get_user_model().objects.get(pk=self.made["id"])

    @property
    def person(self) -> str:
        return f"user:{self.made['id']}"

    def leave(self, change: str) -> None:
        user, group = f"/Users/{self.made['id']}", f"/Groups/{self.group['id']}"
        match change:
            case "inactive":
                self.directory.patch(user, {"op": "Replace", "path": "active", "value": "False"})
            case "deleted":
                self.directory.call("DELETE", user, status=204)
            case "removed":
                self.directory.patch(group, {"op": "Remove", "path": "members"})
            case _:
                self.directory.call("DELETE", group, status=204)


@pytest.fixture
def leaver(directory: Directory) -> Leaver:
    return Leaver(directory)


@pytest.mark.parametrize("change", WAYS)
def test_logins_and_tokens_open_nothing(cast: Cast, leaver: Leaver, change: str) -> None:
    browser = Client()
    browser.force_login(leaver.user, "dashboard.identity.backends.Links")
    _, token = tokens.make(leaver.user, made_by="test", scopes=["read"])
    script = Client(headers={"Authorization": f"Bearer {token}"})
    assert browser.get("/").status_code == script.get("/api/v1/threads/").status_code == 200
    leaver.leave(change)
    assert browser.get("/").status_code in (302, 403)
    assert script.get("/api/v1/threads/").status_code in (401, 403)
    assert leaver.person not in {one.id for one in deciders(cast.workspace)}
    assert sound(cast)


@pytest.mark.parametrize("change", ["inactive", "deleted"])
def test_devices_that_take_push_are_gone_for_good(cast: Cast, leaver: Leaver, change: str) -> None:
    for workspace in (cast.workspace, cast.elsewhere):
        devices.add(
            workspace, leaver.person, "phone", Browser().at("https://push.example/1"), actor="test"
        )
    other = f"user:{cast.users['manager'].pk}"
    stays: Subscribed = Browser().at("https://push.example/2")
    devices.add(cast.workspace, other, "phone", stays, actor="test")
    leaver.leave(change)
    for workspace in (cast.workspace, cast.elsewhere):
        assert devices.of_person(workspace, leaver.person) == []
    assert len(devices.of_person(cast.workspace, other)) == 1
    assert sound(cast)


@pytest.mark.parametrize("change", WAYS)
def test_a_deputy_and_who_has_one_lose_the_right(cast: Cast, leaver: Leaver, change: str) -> None:
    week = Period(None, datetime.now(UTC) + timedelta(days=7))
    manager = f"user:{cast.users['manager'].pk}"
    for person, deputy in ((leaver.person, manager), (manager, leaver.person)):
        name_deputy(cast.workspace, person, deputy, week, reason="out", actor=person)
    assert deputies.mandates(cast.workspace, manager)
    assert deputies.mandates(cast.workspace, leaver.person)
    leaver.leave(change)
    assert deputies.mandates(cast.workspace, manager) == ()
    assert deputies.mandates(cast.workspace, leaver.person) == ()


@pytest.mark.parametrize("change", WAYS)
def test_a_vote_stays_on_record_and_the_effect_waits(
    cast: Cast, leaver: Leaver, change: str
) -> None:
    row = scene.waiting(cast.workspace, scene.make_agent(), terms=TWO)

    def vote(user: Any) -> Any:
        shown = approvals.approval(row.id, workspace=cast.workspace)
        decisions.decide(
            actor_of(user), row.id, verdict="approve", proposal_hash=shown.proposal_hash
        )
        return approvals.approval(row.id, workspace=cast.workspace)

    assert vote(leaver.user).status == "pending"
    leaver.leave(change)
    done = vote(cast.users["manager"])
    assert (done.status, done.outcome) == ("settled", "approve")
    assert "leaver" in validity.doubts(done)
    assert sound(cast)

"""What a change has looked at stands until it writes: another change meanwhile is waited for.

Each pair is one that a look and a later write would let pass both. The first change is made and
not yet committed while the second begins, so that the second reads what is about to be no more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model

from approvals.notify import devices, endpoints
from approvals.notify import queries as queries_of_endpoints
from checkpoints import queries
from dashboard.administration.devices import AddDevice, add_device
from dashboard.administration.endpoints import MAKE, MakeEndpoint
from dashboard.errors import ActionError, NeedsSecondAdmin
from dashboard.gateway.registry import changes as mcp_servers
from dashboard.identity import permissions, tokens
from dashboard.identity.administrator import Administrator
from dashboard.people.accounts import administration
from dashboard.people.directory import arrivals, provisioned
from dashboard.people.sso import identities
from tests.contract.things import DEVICE
from tests.support.cast import Cast, make_cast
from tests.unit.dashboard.gateway.servers import add_mcp_server

from . import broken_logs
from .meeting import meet

ISSUER = "https://login.example.com"


@pytest.fixture
def cast_(real_db: str) -> Cast:
    return make_cast()


def admin_of(cast: Cast, name: str = "admin") -> Administrator:
    """Somebody who is signed in, not at the machine."""
    actor = replace(cast.actor(name), login=permissions.Login("browser"))
    return Administrator(actor, superuser=cast.users[name].is_superuser)


def roles(cast: Cast, name: str) -> set[str]:
    rows = queries.memberships(cast.users[name].pk)
    return {role for workspace, _, role in rows if workspace == cast.workspace}


def test_a_role_with_power_is_not_given_back_unseen_while_it_is_withdrawn(cast_: Cast) -> None:
    """`grant` of a role that somebody has gives nothing and asks nobody; here it would give it."""
    who, ident = admin_of(cast_), cast_.users["manager"].pk
    met = meet(
        lambda: administration.withdraw_role(who, ident, "reviewer", workspace=None),
        lambda: administration.grant_role(who, ident, "reviewer", workspace=None),
    )
    assert met.first is None
    assert isinstance(met.second, NeedsSecondAdmin)
    assert roles(cast_, "manager") == set()
    assert broken_logs() == []


def test_of_two_sets_of_roles_the_last_one_stands(cast_: Cast) -> None:
    who, ident = admin_of(cast_), cast_.users["viewer"].pk
    met = meet(
        lambda: administration.set_roles(who, ident, ["operator"]),
        lambda: administration.set_roles(who, ident, ["auditor"]),
    )
    assert (met.first, met.second) == (None, None)
    assert roles(cast_, "viewer") == {"auditor"}
    assert broken_logs() == []


@pytest.mark.parametrize("flag", ["is_superuser", "is_active"])
def test_one_of_two_superusers_stays(cast_: Cast, flag: str) -> None:
    users = get_user_model()._default_manager
    names = ("admin", "operator")
    for name in names:
        machine = Administrator(cast_.actor("admin"), superuser=True)
        administration.change_user(machine, cast_.users[name].pk, {"is_superuser": True})
        cast_.users[name].refresh_from_db()
    one, other = (admin_of(cast_, name) for name in names)
    met = meet(
        lambda: administration.change_user(one, other.actor.user_id, {flag: False}),
        lambda: administration.change_user(other, one.actor.user_id, {flag: False}),
    )
    assert met.first is None
    assert isinstance(met.second, ActionError)
    assert users.filter(is_superuser=True, is_active=True).count() == 1
    assert broken_logs() == []


def test_nobody_who_is_let_go_keeps_a_token_that_was_made_meanwhile(cast_: Cast) -> None:
    directory = replace(admin_of(cast_), superuser=True)
    user = cast_.users["operator"]
    identities.link(user, identities.SCIM, "op", actor="user:0")
    met = meet(
        lambda: provisioned.change_person(directory, user.pk, {"is_active": False}),
        lambda: tokens.make(user, made_by="user:0"),
    )
    assert met.first is None
    assert isinstance(met.second, ActionError)
    assert [row for row in tokens.listed(user_id=user.pk) if row.revoked_at is None] == []
    assert broken_logs() == []


def test_nobody_who_is_let_go_keeps_a_device_that_was_added_meanwhile(cast_: Cast) -> None:
    directory = replace(admin_of(cast_), superuser=True)
    user, actor = cast_.users["operator"], cast_.actor("operator")
    identities.link(user, identities.SCIM, "op", actor="user:0")
    added = AddDevice(name="phone", address="https://push.example/1", **DEVICE)
    add = partial(add_device, actor, added)

    def let_go() -> None:
        provisioned.change_person(directory, user.pk, {"is_active": False})

    met = meet(let_go, add)
    assert met.first is None
    assert isinstance(met.second, ActionError)
    assert devices.of_person(cast_.workspace, actor.person) == []

    provisioned.change_person(directory, user.pk, {"is_active": True})
    met = meet(add, let_go)
    assert (met.first, met.second) == (None, None)
    assert devices.of_person(cast_.workspace, actor.person) == []
    assert broken_logs() == []


def test_one_of_two_who_claim_an_account_of_the_directory_is_linked(cast_: Cast) -> None:
    user = cast_.users["operator"]
    identities.link(user, identities.SCIM, "op", actor="user:0")

    def arrive(subject: str) -> Callable[[], Any]:
        person = arrivals.Arrival(ISSUER, subject, "operator", True, "", "", "", frozenset())
        return lambda: arrivals.arrive(person, actor="sso")

    met = meet(arrive("first"), arrive("second"))
    assert met.first is None
    assert isinstance(met.second, ActionError)
    assert identities.subjects_of(ISSUER, [user.pk]) == {user.pk: "first"}
    assert broken_logs() == []


def test_the_most_endpoints_are_not_passed(cast_: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "PLACES_MAX", 1)

    def make() -> None:
        made = MakeEndpoint(kind="email", name=uuid4().hex)
        MAKE.run(cast_.actor("admin"), made)

    met = meet(make, make)
    assert met.first is None
    assert isinstance(met.second, ActionError)
    assert broken_logs() == []


def test_the_most_mcp_servers_are_not_passed(cast_: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_servers, "SERVERS_MAX", 1)

    def add() -> None:
        wanted = mcp_servers.Wanted(url="https://mcp.example/mcp")
        add_mcp_server(cast_.actor("admin"), f"s{uuid4().hex[:8]}", wanted)

    met = meet(add, add)
    assert met.first is None
    assert isinstance(met.second, ActionError)
    assert broken_logs() == []


def test_one_of_two_workspaces_gets_a_name(cast_: Cast) -> None:
    who = replace(admin_of(cast_), superuser=True)
    met = meet(
        lambda: administration.rename_workspace(who, cast_.workspace, "Payments"),
        lambda: administration.rename_workspace(who, cast_.elsewhere, "Payments"),
    )
    assert met.first is None
    assert isinstance(met.second, ActionError)
    names = [cast_.actor(one).workspace_name for one in ("admin", "stranger")]
    assert names == ["Payments", "elsewhere"]
    assert broken_logs() == []


def test_of_two_new_passwords_by_one_old_password_one_counts(cast_: Cast) -> None:
    user = cast_.users["operator"]
    who = admin_of(cast_, "operator")

    def change(new: str) -> Callable[[], Any]:
        seen = get_user_model()._default_manager.get(pk=user.pk)
        return lambda: administration.set_own_password(who, seen, new, former="operator-password")

    met = meet(change("a long new password"), change("another long password"))
    assert met.first is None
    assert isinstance(met.second, ActionError)
    user.refresh_from_db()
    assert user.check_password("a long new password")
    assert broken_logs() == []


def test_a_second_tap_does_not_switch_an_endpoint_back(cast_: Cast) -> None:
    wanted = MakeEndpoint(kind="email", name="people")
    made = MAKE.run(cast_.actor("admin"), wanted)
    page = f"/admin/approvals/endpoint/{made.id}"
    admin = cast_.client("admin")
    assert b'name="active" value="0"' in admin.get(f"{page}/change/").content
    for _ in range(2):
        assert admin.post(f"{page}/switch/", {"active": "0"}).status_code == 303
    assert not queries_of_endpoints.endpoint(made.id, workspace=cast_.workspace).active

"""Admins who take it from each other at the same moment: an active one is always left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, product
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model

from checkpoints import store
from dashboard.errors import ActionError
from dashboard.identity import permissions
from dashboard.identity.administrator import Administrator
from dashboard.people.accounts import administration
from dashboard.people.directory import provisioned
from dashboard.people.sso import identities
from tests.unit.checkpoints.builders import rows

from . import broken_logs, together
from .meeting import meet

_numbers = count(1)
# Ways in which somebody is an admin no more.
WAYS: dict[str, Callable[[Administrator, int], Any]] = {
    "role": lambda who, ident: administration.withdraw_role(who, ident, "admin", workspace=None),
    "roles": lambda who, ident: administration.set_roles(who, ident, ["viewer"]),
    "login": lambda who, ident: administration.change_user(who, ident, {"is_active": False}),
    "directory": lambda who, ident: provisioned.remove_person(replace(who, superuser=True), ident),
}


@dataclass(frozen=True)
class Office:
    """A workspace of its own with some admins, whom the directory keeps."""

    workspace: UUID
    admins: Sequence[Administrator]

    def ways(self, names: Sequence[str]) -> list[Callable[[], Any]]:
        """Each admin lets the next one go, in one of the ways; they were read before."""
        around = [*self.admins[1:], self.admins[0]]
        return [
            partial(WAYS[name], who, other.actor.user_id)
            for name, who, other in zip(names, self.admins, around, strict=True)
        ]

    def left(self) -> int:
        """How many of them are active admins now."""
        users = get_user_model()._meta.db_table
        query = (
            f"SELECT count(*) FROM gp_membership m JOIN {users} u ON u.id = m.user_id "
            "WHERE m.workspace_id = %s AND m.role = 'admin' AND u.is_active"
        )
        return int(rows(query, (self.workspace,))[0][0])


def make_office(n: int) -> Office:
    mark = next(_numbers)
    workspace = store.create_workspace(f"office {mark}", actor="user:0")
    admins = []
    for i in range(n):
        user = get_user_model()._default_manager.create_user(f"admin-{mark}-{i}")
        store.grant(workspace, user.pk, "admin", actor="user:0")
        identities.link(user, identities.SCIM, f"{mark}-{i}", actor="user:0")
        actor = replace(permissions.actor_of(user), login=permissions.Login("browser"))
        admins.append(Administrator(actor, superuser=False))
    return Office(workspace, admins)


def attempt(change: Callable[[], Any]) -> Exception | None:
    try:
        change()
    except ActionError as error:
        return error
    return None


@pytest.mark.slow
def test_the_second_of_two_admins_who_let_each_other_go_is_refused(real_db: str) -> None:
    for names in product(WAYS, repeat=2):
        office = make_office(2)
        met = meet(*office.ways(names))
        assert met.first is None, (names, met)
        assert isinstance(met.second, ActionError), (names, met)
        assert office.left() == 1
    assert broken_logs() == []


@pytest.mark.slow
def test_of_three_admins_who_let_each_other_go_one_is_left(real_db: str) -> None:
    for names in product(WAYS, repeat=3):
        office = make_office(3)
        errors = together([partial(attempt, one) for one in office.ways(names)])
        assert office.left() >= 1, (names, errors)
        assert office.left() == 3 - errors.count(None), (names, errors)
    assert broken_logs() == []


def test_a_new_admin_whose_login_is_being_disabled_is_not_relied_on(real_db: str) -> None:
    """The former admin hands the role to somebody and goes; one active admin stays."""
    office, elsewhere = make_office(1), make_office(2)
    former, new = (one.admins[0].actor.user_id for one in (office, elsewhere))
    actor = replace(office.admins[0].actor, login=None)
    machine = Administrator(actor, superuser=True)

    def hand_on() -> None:
        administration.grant_role(machine, new, "admin", workspace=office.workspace)
        administration.withdraw_role(
            replace(machine, actor=replace(actor, user_id=new)),
            former,
            "admin",
            workspace=office.workspace,
        )

    met = meet(
        partial(administration.change_user, machine, new, {"is_active": False}),
        partial(attempt, hand_on),
    )
    assert (met.first, met.second) == (None, None)
    assert office.left() == 1
    assert broken_logs() == []

"""A person who comes by single sign-on: whose account that is, and which roles it has now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import structlog
from django.db import transaction

from checkpoints import queries
from dashboard.errors import Conflict, Forbidden
from dashboard.fields.validation import check_text
from dashboard.people.accounts.accounts import add_account, change_account, locked_account
from dashboard.people.accounts.usernames import NameTaken, alike
from dashboard.people.accounts.users import LIMITS
from dashboard.people.sso import identities

from .memberships import apply_groups, opened_by

log = structlog.get_logger("gatepost.sso")
_SHOWN: Final = ("email", "first_name", "last_name")


@dataclass(frozen=True, slots=True)
class Arrival:
    """Somebody as the provider says: `issuer` and `subject` name them for good.

    `name_is_vouched` is False where the name is a mail address that the provider has not verified.
    """

    issuer: str
    subject: str
    username: str
    name_is_vouched: bool
    email: str
    first_name: str
    last_name: str
    groups: frozenset[str]


class NoAccess(Forbidden):
    """The provider knows the person, and nothing here is open to them."""

    code, title = "no-access", "No access to Gatepost"


def arrive(person: Arrival, *, actor: str) -> Any:
    """The account of a person who has just signed in at the provider, with their roles of now.

    1. Find the account by issuer and subject; one that the directory made (SCIM) is linked by its
       name, once, unless that is a mail address that nobody verified; where there is none a new
       one is made for a person to whom some group opens a role.
    2. Refuse a disabled one.
    3. Set mail and names, then roles and teams, as the provider has them now. The groups of
       people whom the directory keeps here are those that it set.
    4. Refuse a person who has no role in any workspace; what was withdrawn stays so.

    Raises NoAccess and Conflict.
    """
    try:
        return _account_of_now(person, actor)
    except (Conflict, NameTaken):
        # Two sign-ins at the same moment: the other one has made the account, or linked it.
        if identities.user_of(person.issuer, person.subject) is None:
            raise
    return _account_of_now(person, actor)


def _account_of_now(person: Arrival, actor: str) -> Any:
    with transaction.atomic():
        user = identities.user_of(person.issuer, person.subject) or _account(person, actor)
        user = locked_account(user.pk)
        if not user.is_active:
            raise NoAccess("Your account is disabled. Ask an admin of Gatepost to enable it.")
        workspace = queries.default_workspace()
        change_account(user, _values(person), actor=actor, workspace=workspace)
        apply_groups(user.pk, _groups(user, person), actor=actor)
    if not queries.memberships(user.pk) and not user.is_superuser:
        log.warning("sign-in refused: no group opens a role", user=user.pk)
        raise _no_group(person)
    return user


def _account(person: Arrival, actor: str) -> Any:
    """The account that a person who comes for the first time gets."""
    check_text("username", person.username, LIMITS["username"], required=True)
    # Names that differ by case alone are one person's, who must not vote twice.
    same = alike(person.username)
    user = same[0] if same else None
    if user is None:
        if not any(opened_by(person.groups).values()):
            raise _no_group(person)
        user = add_account(
            person.username,
            password=None,
            values=_values(person),
            actor=actor,
            workspace=queries.default_workspace(),
        )
    else:
        user = locked_account(user.pk)  # of two who claim it at the same moment one is linked
        if len(same) > 1 or not person.name_is_vouched or not _awaits(user, person.issuer):
            # By its name alone somebody could take over an account: names at a provider may be
            # chosen, and so may mail addresses that nobody has verified.
            raise Conflict(
                f"There is an account {user.username} here already. If it is yours, ask the person "
                f"who runs Gatepost to link it: user link {user.username} "
                f"--subject {person.subject}"
            )
    identities.link(user, person.issuer, person.subject, actor=actor)
    return user


def _awaits(user: Any, issuer: str) -> bool:
    """Answer True for an account of the directory (SCIM) whose person has not come yet."""
    if user.is_superuser or not identities.subjects_of(identities.SCIM, [user.pk]):
        return False
    return not identities.subjects_of(issuer, [user.pk])


def _groups(user: Any, person: Arrival) -> frozenset[str]:
    """One source for each person: whom a directory keeps here has the groups that it set."""
    if identities.subjects_of(identities.SCIM, [user.pk]):
        return frozenset(user.groups.values_list("name", flat=True))
    return person.groups


def _values(person: Arrival) -> dict[str, str]:
    return {name: getattr(person, name) for name in _SHOWN if getattr(person, name)}


def _no_group(person: Arrival) -> NoAccess:
    groups = ", ".join(sorted(person.groups)[:20]) or "none"
    return NoAccess(
        f"You are signed in at the provider as {person.username}, but none of your groups opens "
        f"Gatepost. Your groups: {groups}. Ask for one that does, then sign in again."
    )

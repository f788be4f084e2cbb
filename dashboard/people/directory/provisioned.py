"""People and groups that a directory keeps here through SCIM, and leavers, who are signed out.

A group of the directory is a team of the same name; where GATEPOST_GROUPS names it, its members
have the roles that it opens. The directory reaches the accounts that it made, or that an admin
linked to it, and never a superuser's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final
from unicodedata import category

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction

from approvals.notify import devices
from checkpoints import queries
from dashboard.errors import Conflict, Forbidden, Invalid, Missing
from dashboard.fields.validation import check_text
from dashboard.identity import tokens
from dashboard.identity.administrator import Administrator
from dashboard.identity.permissions import require
from dashboard.identity.sign_ins import records as sign_ins
from dashboard.identity.user_changes import changed_by
from dashboard.people.accounts.accounts import (
    add_account,
    change_account,
    locked_account,
    set_account_password,
)
from dashboard.people.accounts.usernames import NameTaken, alike, person_name
from dashboard.people.accounts.users import LIMITS, SUBJECT_MAX
from dashboard.people.sso import identities
from dashboard.wire import hints

from .memberships import apply_groups

GROUP_NAME_MAX: Final = 150
MEMBERS_MAX: Final = 5_000
TEXTS: Final = ("username", "email", "first_name", "last_name")
_OWN_ID: Final = re.compile(r"user:[0-9]+")

# (name, ids of the members whom the directory reaches) -> the same as they shall be
type GroupChange = Callable[[str, set[int]], tuple[str, Collection[int]]]


class Taken(Conflict):
    """Something else has this name already."""


def people(who: Administrator) -> Any:
    """The accounts of the directory, as a queryset in a lasting order."""
    _require(who)
    known = identities.users_of(identities.SCIM)
    return known.filter(is_superuser=False).order_by("pk")


def person(who: Administrator, user_id: int) -> Any:
    """One account of the directory; raises Missing."""
    user = people(who).filter(pk=user_id).first()
    if user is None:
        raise Missing("The directory keeps no such user here.")
    return user


def provision(who: Administrator, values: Mapping[str, Any], *, external_id: str = "") -> Any:
    """Make an account for somebody of the directory; without a group it has no role.

    A name that the directory removed gives that account back, so that nobody has two. Raises Taken
    for a name that is taken, also by an account that was made here: an admin links that one
    (`user link NAME --issuer scim --subject ID`).
    """
    _require(who)
    _check(values, external_id)
    actor, workspace = who.actor.id, queries.default_workspace()
    name, others = values["username"], {k: v for k, v in values.items() if k != "username"}
    with transaction.atomic():
        user = _rehired(values, actor)
        try:
            user = user or add_account(
                name, password=None, values=others, actor=actor, workspace=workspace
            )
        except NameTaken as error:
            raise _taken() from error
        _link(user, external_id or _own_id(user), actor)
    return user


def _rehired(values: Mapping[str, Any], actor: str) -> Any:
    """Give back the account of this name that the directory removed; None where there is none.

    It comes without roles, groups, logins, tokens, and what any provider said of its person.
    """
    same = alike(values["username"])
    if len(same) != 1 or identities.LEFT not in identities.providers_of(same[0]):
        return None
    user = locked_account(same[0].pk)
    known = identities.providers_of(user)  # again, with the lock
    if user.is_active or user.is_superuser or identities.LEFT not in known:
        return None
    if identities.SCIM in known:
        return None  # linked again by an admin
    if queries.memberships(user.pk):
        return None  # somebody here gave it roles since: an admin has to say whose it is
    change_account(user, values, actor=actor, workspace=queries.default_workspace())
    for provider in known:
        identities.unlink(user, provider, actor=actor)
    return user


def change_person(
    who: Administrator, user_id: int, values: Mapping[str, Any], *, external_id: str | None = None
) -> Any:
    """Set values of somebody of the directory; anyone who becomes inactive is signed out."""
    person(who, user_id)
    _check(values, external_id or "")
    actor = who.actor.id
    with transaction.atomic():
        user = locked_account(user_id)
        leaves = user.is_active and values.get("is_active") is False
        try:
            change_account(user, values, actor=actor, workspace=queries.default_workspace())
        except NameTaken as error:
            raise _taken() from error
        if external_id is not None:
            subject = external_id or _own_id(user)
            _link(user, subject, actor)
        if leaves:
            _end_access(user, actor)
    if leaves:
        hints.logins_changed()
    return user


def remove_person(who: Administrator, user_id: int) -> None:
    """Let somebody go for good: signed out, without roles and groups, no longer in the directory.

    The account stays, disabled: the logs name it, and who is made again gets it back.
    """
    person(who, user_id)
    actor = who.actor.id
    with transaction.atomic():
        user = locked_account(user_id)
        workspace = queries.default_workspace()
        change_account(user, {"is_active": False}, actor=actor, workspace=workspace)
        with changed_by(actor):
            user.groups.clear()
        apply_groups(user_id, (), actor=actor)
        _end_access(user, actor)
        identities.unlink(user, identities.SCIM, actor=actor)
        identities.link(user, identities.LEFT, _own_id(user), actor=actor)
    hints.logins_changed()


def groups(who: Administrator) -> Any:
    """The groups of the directory, as a queryset; teams that the mapping gives are none."""
    _require(who)
    return Group.objects.exclude(name__in=_given_teams()).order_by("pk")


def group(who: Administrator, group_id: int) -> Any:
    """One group; raises Missing."""
    row = groups(who).filter(pk=group_id).first()
    if row is None:
        raise Missing("There is no such group.")
    return row


def add_group(who: Administrator, *, name: str, members: Collection[int]) -> Any:
    """Make a group; its members have what it opens immediately."""
    _require(who)
    with transaction.atomic(), changed_by(who.actor.id):
        row = Group()
        _save_group(who, row, name, members)
    hints.logins_changed()
    return row


def change_group(who: Administrator, group_id: int, change: GroupChange) -> Any:
    """Set name and members of a group to what `change` makes of those of now; roles follow."""
    with transaction.atomic(), changed_by(who.actor.id):
        row = _locked_group(who, group_id)
        reached = people(who).filter(groups=row).values_list("pk", flat=True)
        _save_group(who, row, *change(row.name, set(reached)))
    hints.logins_changed()
    return row


def remove_group(who: Administrator, group_id: int) -> None:
    """Delete a group; its members lose what it opened."""
    with transaction.atomic(), changed_by(who.actor.id):
        row = _locked_group(who, group_id)
        had = set(row.user_set.values_list("pk", flat=True))
        row.delete()
        _reassign(who, had)
    hints.logins_changed()


def _locked_group(who: Administrator, group_id: int) -> Any:
    """A group, locked: directories send changes of one group at the same time."""
    row = groups(who).select_for_update(no_key=True).filter(pk=group_id).first()
    if row is None:
        raise Missing("There is no such group.")
    return row


def _save_group(who: Administrator, row: Any, name: str, members: Collection[int]) -> None:
    check_text("$.displayName", name, GROUP_NAME_MAX, required=True)
    if name in _given_teams():
        raise Taken(f"GATEPOST_GROUPS gives the team {name}: no group can have its name.")
    renamed, row.name = row.name != name, name
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise Taken(f"There is a group {name} already.") from error
    had = set(row.user_set.values_list("pk", flat=True))
    wanted = _known(who, members) | _foreign(who, had)
    row.user_set.add(*(wanted - had))
    row.user_set.remove(*(had - wanted))
    _reassign(who, had | wanted if renamed else had ^ wanted)


def _require(who: Administrator) -> None:
    """Refuse all but a superuser's token: a directory is above the workspaces."""
    require(who.actor, "scim")
    if not who.superuser:
        raise Forbidden("A directory needs the token of a superuser: its groups reach everywhere.")


def _check(values: Mapping[str, Any], external_id: str) -> None:
    for name in TEXTS:
        if name in values:
            check_text(f"$.{name}", values[name], LIMITS[name], required=name == "username")
            if any(category(c) == "Cc" for c in values[name]):
                raise Invalid(f"$.{name}", "has a control character")
    if "username" in values:
        person_name(values["username"])
    check_text("$.externalId", external_id, SUBJECT_MAX)
    if _OWN_ID.fullmatch(external_id):
        raise Invalid("$.externalId", "has the form of a name that Gatepost gives itself")


def _taken() -> Taken:
    message = "is the name of another user; an admin can link it to the directory"
    return Taken(f"$.userName: {message}.")


def _link(user: Any, subject: str, actor: str) -> None:
    try:
        identities.link(user, identities.SCIM, subject, actor=actor)
    except Conflict as error:
        raise Taken(error.detail) from error


def _own_id(user: Any) -> str:
    """Stand-in for the directory's own id where it sends none."""
    return f"user:{user.pk}"


def _end_access(user: Any, actor: str) -> None:
    """End logins, tokens and devices of a locked user for good: enabling opens none again."""
    # All logins hang on the hash of the password; there is none that anybody knows.
    workspace = queries.default_workspace()
    set_account_password(user, None, actor=actor, workspace=workspace)
    sign_ins.end(user.pk, by=actor, why="admin")
    for token in tokens.listed(user_id=user.pk):
        if token.revoked_at is None:
            tokens.revoke(token.prefix, by=actor)
    devices.remove_all(f"user:{user.pk}", actor=actor)


def _given_teams() -> set[str]:
    """Teams that follow from groups by the mapping, and are no groups themselves."""
    mapping = settings.GATEPOST_GROUPS
    teams = {team for entries in mapping.values() for access in entries for team in access.teams}
    return teams - set(mapping)


def _known(who: Administrator, ids: Collection[int]) -> set[int]:
    if len(ids) > MEMBERS_MAX:
        raise Invalid("$.members", f"has more than {MEMBERS_MAX:,} members")
    known = set(people(who).filter(pk__in=ids).values_list("pk", flat=True))
    if strange := sorted(set(ids) - known):
        raise Invalid("$.members", f"names {strange[0]}, whom the directory does not keep here")
    return known


def _foreign(who: Administrator, ids: Collection[int]) -> set[int]:
    """Members whom the directory does not reach: it neither sees nor removes them."""
    return set(ids) - set(people(who).filter(pk__in=ids).values_list("pk", flat=True))


def _reassign(who: Administrator, ids: Iterable[int]) -> None:
    """Give the people of the directory among these the roles of their groups."""
    for user_id in people(who).filter(pk__in=list(ids)).values_list("pk", flat=True):
        # Groups are read with the lock: another group of theirs may change at the same time.
        user = locked_account(user_id)
        if not people(who).filter(pk=user_id).exists():
            continue  # left meanwhile
        names = set(user.groups.values_list("name", flat=True))
        apply_groups(user_id, names, actor=who.actor.id)

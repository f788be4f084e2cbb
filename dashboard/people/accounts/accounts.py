"""Accounts and roles, no matter who changes them: an admin, single sign-on or a directory (SCIM).

Each function writes the row and its event in one transaction. Whether somebody may do it is
decided before, in `administration` and `directory`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction

from checkpoints import queries, store
from checkpoints.states import WorkspaceEventKind as Kind
from dashboard.errors import Missing, translated
from dashboard.identity.passwords import given_hash
from dashboard.identity.permissions import ROLES

from .usernames import NameTaken, claim_name, person_name

# Fields of a user whose old and new values may stand in a log that nobody can erase.
OPEN_FIELDS: Final = ("username", "is_active", "is_superuser")
FIELDS: Final = (*OPEN_FIELDS, "first_name", "last_name", "email")


class HashedPassword(str):
    """A password that was hashed when it was asked for; it is stored as it is."""

    __slots__ = ()


def add_account(
    username: str,
    *,
    password: str | None,
    values: Mapping[str, Any],
    actor: str,
    workspace: UUID,
) -> Any:
    """Make a user without a role; raises Invalid for a name that is taken or not allowed."""
    person_name(username)
    users = get_user_model()._default_manager
    others = {k: values[k] for k in FIELDS if k in values and k not in ("username", "email")}
    user = get_user_model()(email=users.normalize_email(values.get("email", "")), **others)
    _give_password(user, password)  # takes a while, so it comes before the lock of names
    changed: dict[str, Any] = {"is_superuser": [False, True]} if user.is_superuser else {}
    with translated(), transaction.atomic():
        user.username = claim_name(username)
        try:
            user.save()
        except IntegrityError as error:  # made past the lock of names
            raise NameTaken from error
        log_account(Kind.USER_CREATED, user, changed, actor=actor, workspace=workspace)
    return user


def change_account(
    user: Any, new: Mapping[str, Any], *, actor: str, workspace: UUID
) -> dict[str, Any]:
    """Set values of a user that the caller has locked; what differed, as the event says it.

    Raises Invalid for a name that is taken or not allowed, Conflict where nobody could undo it.
    """
    if new.get("username", user.username) != user.username:
        new = {**new, "username": person_name(new["username"])}
    new = {k: v for k, v in new.items() if k in FIELDS and getattr(user, k) != v}
    if not new:
        return {}
    changed = {k: [getattr(user, k), v] if k in OPEN_FIELDS else None for k, v in new.items()}
    kind = Kind.USER_DISABLED if new.get("is_active") is False else Kind.USER_CHANGED
    former = user.get_username()
    for name, value in new.items():
        setattr(user, name, value)
    with translated(), transaction.atomic():
        if "username" in new:
            claim_name(new["username"], user_id=user.pk)
        try:
            with transaction.atomic():
                user.save(update_fields=list(new))
        except IntegrityError as error:
            raise NameTaken from error
        log_account(kind, user, changed, actor=actor, workspace=workspace, name=former)
    return changed


def set_account_password(user: Any, password: str | None, *, actor: str, workspace: UUID) -> None:
    """Give a locked user another password, or none; all their logins end.

    One that somebody else sets is marked: its owner changes it before they decide.
    """
    with translated(), transaction.atomic():
        if actor.partition("/")[0] == f"user:{user.pk}":
            user.set_password(password)
        else:
            _give_password(user, password)
        user.save(update_fields=["password"])
        log_account(Kind.USER_CHANGED, user, {"password": None}, actor=actor, workspace=workspace)


def _give_password(user: Any, password: str | None) -> None:
    is_hashed = isinstance(password, HashedPassword)
    user.password = str(password) if is_hashed else given_hash(password)


def roles_of(user_id: int, workspace: UUID) -> set[str]:
    """The roles of a user in a workspace."""
    return {role for ident, _, role in queries.memberships(user_id) if ident == workspace}


def assign_roles(
    workspace: UUID, user_id: int, *, had: Collection[str], wanted: Iterable[str], actor: str
) -> None:
    """Give and take roles until somebody who has `had` has exactly `wanted`; all or none.

    Raises Invalid for a role that there is none of, Conflict for the last admin's.
    """
    wanted = set(wanted)
    with translated(), transaction.atomic():
        # Given first: at no moment is somebody who keeps a role out of the workspace.
        for role in [r for r in ROLES if r in wanted and r not in had]:
            store.grant(workspace, user_id, role, actor=actor)
        for role in [r for r in ROLES if r in had and r not in wanted]:
            store.withdraw(workspace, user_id, role, actor=actor)
        if unknown := wanted - set(ROLES):
            store.grant(workspace, user_id, min(unknown), actor=actor)  # raises and names it


def locked_account(user_id: int) -> Any:
    """A user, locked until the transaction ends; raises Missing."""
    # Without the key: rows that refer to the user may be written meanwhile.
    users = get_user_model()._default_manager.select_for_update(no_key=True)
    row = users.filter(pk=user_id).first()
    if row is None:
        raise Missing("There is no such user.")
    return row


def log_account(
    kind: Kind,
    user: Any,
    changed: Mapping[str, Any],
    *,
    actor: str,
    workspace: UUID,
    name: str = "",
) -> None:
    """Write the event of a change of a user."""
    store.log_user(
        kind,
        user.pk,
        name=name or user.get_username(),
        changed=changed,
        actor=actor,
        workspace=workspace,
    )

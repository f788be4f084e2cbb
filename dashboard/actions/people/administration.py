"""Administer people, roles and workspaces: the part of `actions` behind the admin site.

The same shape as there: the right first, then the domain call, whose event is written with the
change, errors as ActionError. A superuser may act in every workspace; an admin in their own, on
people of no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import UUID

import structlog
from django.contrib.auth import get_user_model
from django.db import transaction

from checkpoints import queries, store
from dashboard.errors import Conflict, Forbidden, Missing, translated
from dashboard.identity import tokens
from dashboard.identity.permissions import RIGHTS, Actor, actor_of, require
from dashboard.identity.sso import identities
from dashboard.identity.tokens import TokenRow

from .accounts import (
    add_account,
    assign_roles,
    change_account,
    locked_account,
    roles_of,
    set_account_password,
)

log = structlog.get_logger("gatepost.admin")

AUDIT: Final = frozenset({"auditor", "admin"})


@dataclass(frozen=True, slots=True)
class Administrator:
    """Somebody at the admin site: who they are, and whether every workspace is theirs."""

    actor: Actor
    superuser: bool

    @property
    def may_audit(self) -> bool:
        """True if this person may read the records."""
        return self.superuser or not AUDIT.isdisjoint(self.actor.roles)

    @property
    def may_administer(self) -> bool:
        """True if this person may change users, roles and workspaces."""
        return self.superuser or "admin" in self.actor.roles

    @property
    def scope(self) -> UUID | None:
        """The workspace whose rows they may read; None for all."""
        return None if self.superuser else self.actor.workspace


def administrator_of(user: Any) -> Administrator:
    """Read the person behind a Django user, with current roles; Forbidden for strangers."""
    return Administrator(actor_of(user), bool(user.is_superuser))


def require_audit(actor: Actor) -> None:
    """Raise Forbidden unless roles and token let somebody look at what admins look after."""
    if AUDIT.isdisjoint(actor.roles):
        raise Forbidden("Needs the role auditor or admin.")
    require(actor, "read")


def people_within_reach(who: Administrator) -> Any:
    """The users whom somebody may look after, as a queryset."""
    users = get_user_model()._default_manager.all()
    if who.superuser:
        return users
    ids = queries.people_of(who.actor.workspace) if who.may_administer else set()
    return users.filter(pk__in=ids, is_superuser=False)


def grant_role(who: Administrator, user_id: int, role: str, *, workspace: UUID | None) -> UUID:
    """Give somebody a role, in one's own workspace unless told otherwise; the workspace."""
    workspace_id = _workspace_to_administer(who, workspace)
    _reach(who, user_id)
    _check_second_person(who, user_id, {role}, workspace_id)
    with translated():
        if not store.grant(workspace_id, user_id, role, actor=who.actor.id):
            raise Conflict("They have this role already.")
    return workspace_id


def withdraw_role(who: Administrator, user_id: int, role: str, *, workspace: UUID | None) -> None:
    """Take a role from somebody; it counts at once, also for open pages."""
    workspace_id = _workspace_to_administer(who, workspace)
    with translated():
        store.withdraw(workspace_id, user_id, role, actor=who.actor.id)


def set_roles(who: Administrator, user_id: int, roles: Iterable[str]) -> None:
    """Give and take roles until somebody has exactly these in one's own workspace; all or none."""
    workspace_id, wanted = _workspace_to_administer(who, None), set(roles)
    _reach(who, user_id)
    with translated(), transaction.atomic():
        had = roles_of(user_id, workspace_id)
        _check_second_person(who, user_id, wanted - had, workspace_id)
        assign_roles(workspace_id, user_id, had=had, wanted=wanted, actor=who.actor.id)


def create_user(
    who: Administrator,
    username: str,
    *,
    password: str | None,
    roles: Iterable[str] = (),
    **values: Any,
) -> Any:
    """Make a user, with roles in one's own workspace; without a password only links let them in."""
    workspace_id = _workspace_to_administer(who, None)
    _own_flag(who, values)
    with translated(), transaction.atomic():
        user = add_account(
            username, password=password, values=values, actor=who.actor.id, workspace=workspace_id
        )
        set_roles(who, user.pk, roles)
    return user


def change_user(who: Administrator, user_id: int, values: Mapping[str, Any]) -> bool:
    """Change names, address and flags of a user; False when nothing differs."""
    _own_flag(who, values)
    _reach(who, user_id, alone=True)
    with translated(), transaction.atomic():
        user = locked_account(user_id)
        own = user_id == who.actor.user_id
        if own and user.is_superuser and values.get("is_superuser") is False:
            raise Conflict("You cannot give up your own superuser right; ask another superuser.")
        workspace_id = who.actor.workspace
        return bool(change_account(user, values, actor=who.actor.id, workspace=workspace_id))


def set_password(who: Administrator, user_id: int, password: str | None) -> None:
    """Give somebody another password, or none; their logins end."""
    if not who.may_administer:
        raise Forbidden("Needs the role admin.")
    _reach(who, user_id, alone=True)
    _set_password(who, user_id, password)


def set_own_password(who: Administrator, password: str) -> None:
    """Give oneself another password."""
    _set_password(who, who.actor.user_id, password)


def link_identity(who: Administrator, user_id: int, issuer: str, subject: str) -> None:
    """Let a provider of single sign-on vouch for somebody; without a subject, stop that."""
    if not who.may_administer:
        raise Forbidden("Needs the role admin.")
    _reach(who, user_id, alone=True)
    with translated(), transaction.atomic():
        user = locked_account(user_id)
        if subject:
            identities.link(user, issuer, subject, actor=who.actor.id)
        elif not identities.unlink(user, issuer, actor=who.actor.id):
            raise Missing("This person is not linked to the provider.")


def create_workspace(who: Administrator, name: str) -> UUID:
    """Make a workspace; superusers only."""
    if not who.superuser:
        raise Forbidden("Only a superuser makes workspaces.")
    with translated():
        return store.create_workspace(name, actor=who.actor.id)


def rename_workspace(who: Administrator, workspace: UUID, name: str) -> None:
    """Give a workspace another name."""
    workspace_id = _workspace_to_administer(who, workspace)
    with translated():
        store.rename_workspace(workspace_id, name, actor=who.actor.id)


def require_second_factor(who: Administrator, workspace: UUID, roles: Iterable[str]) -> None:
    """Let exactly these roles of a workspace need a second factor."""
    workspace_id = _workspace_to_administer(who, workspace)
    with translated():
        store.require_second_factor(workspace_id, list(roles), actor=who.actor.id)


def revoke_token(who: Administrator, token: TokenRow) -> None:
    """End a token for good."""
    _workspace_to_administer(who, token.workspace_id)
    tokens.revoke(token.prefix, by=who.actor.id)


def _set_password(who: Administrator, user_id: int, password: str | None) -> None:
    with translated(), transaction.atomic():
        user, workspace_id = locked_account(user_id), who.actor.workspace
        set_account_password(user, password, actor=who.actor.id, workspace=workspace_id)


def _workspace_to_administer(who: Administrator, workspace: UUID | None) -> UUID:
    """The workspace to act in; Forbidden without the right, Missing for somebody else's."""
    if not who.may_administer:
        raise Forbidden("Needs the role admin.")
    workspace_id = who.actor.workspace if workspace is None else workspace
    if not who.superuser and workspace_id != who.actor.workspace:
        raise Missing("There is no such workspace.")
    return workspace_id


def _reach(who: Administrator, user_id: int, *, alone: bool = False) -> None:
    """Missing for users of other workspaces; with `alone`, Forbidden for those of several."""
    if who.superuser or not who.may_administer:
        return
    if not people_within_reach(who).filter(pk=user_id).exists():
        raise Missing("There is no such user in this workspace.")
    if alone and not queries.only_member_of(user_id, who.actor.workspace):
        raise Forbidden(
            "This person belongs to other workspaces too, so only a superuser may change the login."
        )


def _check_second_person(
    who: Administrator, user_id: int, roles: set[str], workspace: UUID
) -> None:
    """Refuse that admins let themselves decide: who makes the rules is not who approves.

    The try is an event of the workspace, written by the door once the change is rolled back.
    """
    if user_id != who.actor.user_id or not (refused := RIGHTS["decide"] & roles):
        return
    log.warning("role refused", actor=who.actor.id, roles=sorted(roles))
    error = Forbidden("You cannot make yourself a reviewer. Ask another admin to do it.")
    role = min(refused)
    error.afterwards = partial(store.log_refused_role, workspace, user_id, role, actor=who.actor.id)
    raise error


def _own_flag(who: Administrator, values: Mapping[str, Any]) -> None:
    if "is_superuser" in values and not who.superuser:
        raise Forbidden("Only a superuser makes superusers.")

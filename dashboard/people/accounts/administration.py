"""Administer people, roles and workspaces: the part of `actions` behind the admin site.

The same shape as there: the right first, then the domain call, whose event is written with the
change, errors as ActionError. A superuser may act in every workspace; an admin in their own, on
people of no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import check_password
from django.db import connection, transaction

from checkpoints import queries, store
from dashboard.errors import Conflict, Forbidden, Missing, translated
from dashboard.identity import tokens
from dashboard.identity.administrator import AUDIT, Administrator
from dashboard.identity.permissions import RIGHTS, Actor, require
from dashboard.identity.tokens import TokenRow
from dashboard.people.logins.confirmation import WrongPassword
from dashboard.people.sso import identities

from .access_changes import Gift, guarded, is_at_machine, of_person, of_roles
from .accounts import (
    add_account,
    assign_roles,
    change_account,
    locked_account,
    roles_of,
    set_account_password,
)

log = structlog.get_logger("gatepost.admin")


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


def _gift_of_grant(who: Administrator, user_id: int, role: str, *, workspace: UUID | None) -> Gift:
    where = workspace or who.actor.workspace
    return Gift(user_id, name_of(user_id), of_roles([role], roles_of(user_id, where)))


@guarded(_gift_of_grant)
def grant_role(who: Administrator, user_id: int, role: str, *, workspace: UUID | None) -> UUID:
    """Give somebody a role, in one's own workspace unless another is named; the workspace."""
    workspace_id = _workspace_to_administer(who, workspace)
    _reach(who, user_id)
    _check_second_person(who, user_id, {role}, workspace_id)
    with translated(), transaction.atomic():
        locked_account(user_id)  # whose login is being disabled is no admin to rely on
        if not store.grant(workspace_id, user_id, role, actor=who.actor.id):
            raise Conflict("They have this role already.")
    return workspace_id


def withdraw_role(who: Administrator, user_id: int, role: str, *, workspace: UUID | None) -> None:
    """Take a role from somebody; it counts immediately, also for open pages."""
    workspace_id = _workspace_to_administer(who, workspace)
    with translated(), transaction.atomic():
        locked_account(user_id)
        store.withdraw(workspace_id, user_id, role, actor=who.actor.id)


def _gift_of_roles(who: Administrator, user_id: int, roles: Iterable[str]) -> Gift:
    had = roles_of(user_id, who.actor.workspace)
    return Gift(user_id, name_of(user_id), of_roles(roles, had))


@guarded(_gift_of_roles)
def set_roles(who: Administrator, user_id: int, roles: Iterable[str]) -> None:
    """Give and take roles until somebody has exactly these in one's own workspace; all or none."""
    workspace_id, wanted = _workspace_to_administer(who, None), set(roles)
    _reach(who, user_id)
    with translated(), transaction.atomic():
        locked_account(user_id)
        had = roles_of(user_id, workspace_id)
        _check_second_person(who, user_id, wanted - had, workspace_id)
        assign_roles(workspace_id, user_id, had=had, wanted=wanted, actor=who.actor.id)


def _gift_of_account(
    who: Administrator, username: str, *, roles: Iterable[str] = (), **values: Any
) -> Gift:
    return Gift(None, username, [*of_roles(roles), *_superuser(values)])


@guarded(_gift_of_account)
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


def _gift_of_values(who: Administrator, user_id: int, values: Mapping[str, Any]) -> Gift:
    """The gift of other values: a login again, another address or name, all rights."""
    user = get_user_model()._default_manager.filter(pk=user_id).first()
    gives: list[str] = []
    if user is not None:
        if values.get("is_active") and not user.is_active:
            gives.append("the login again")
        gives += [
            f"another {what}"
            for field, what in (("email", "mail address"), ("username", "user name"))
            if values.get(field, getattr(user, field)) != getattr(user, field)
        ]
    gift = of_person(who, user_id, *gives)
    if user is None or user.is_superuser:
        return gift
    return Gift(user_id, gift.name, [*gift.gives, *_superuser(values)])


@guarded(_gift_of_values)
def change_user(who: Administrator, user_id: int, values: Mapping[str, Any]) -> bool:
    """Change names, address and flags of a user; False when nothing differs."""
    _own_flag(who, values)
    _reach(who, user_id, alone=True)
    with translated(), transaction.atomic():
        user = locked_account(user_id)
        own = user_id == who.actor.user_id
        if own and user.is_superuser and values.get("is_superuser") is False:
            raise Conflict("You cannot give up your own superuser right; ask another superuser.")
        ends = any(values.get(flag) is False for flag in ("is_superuser", "is_active"))
        if user.is_superuser and ends and not is_at_machine(who.actor):
            _check_still_superuser(who)
        workspace_id = who.actor.workspace
        return bool(change_account(user, values, actor=who.actor.id, workspace=workspace_id))


def _gift_of_change(
    who: Administrator,
    user_id: int,
    values: Mapping[str, Any],
    roles: Iterable[str] | None = None,
) -> Gift:
    gift = _gift_of_values(who, user_id, values)
    more = [] if roles is None else _gift_of_roles(who, user_id, roles).gives
    return Gift(user_id, gift.name, [*gift.gives, *more])


@guarded(_gift_of_change)
def change_person(
    who: Administrator,
    user_id: int,
    values: Mapping[str, Any],
    roles: Iterable[str] | None = None,
) -> None:
    """Change values of a user and the roles in one's own workspace, all or none."""
    with transaction.atomic():
        if values:
            change_user(who, user_id, values)
        if roles is not None:
            set_roles(who, user_id, roles)


def _gift_of_password(who: Administrator, user_id: int, password: str | None) -> Gift:
    return of_person(who, user_id, "another password" if password else "no password")


@guarded(_gift_of_password)
def set_password(who: Administrator, user_id: int, password: str | None) -> None:
    """Give somebody another password, or none; their logins end."""
    if not who.may_administer:
        raise Forbidden("Needs the role admin.")
    _reach(who, user_id, alone=True)
    with translated(), transaction.atomic():
        user, workspace_id = locked_account(user_id), who.actor.workspace
        set_account_password(user, password, actor=who.actor.id, workspace=workspace_id)


def set_own_password(who: Administrator, user: Any, password: str, *, former: str) -> None:
    """Give oneself another password in place of `former`, which was right for `user` as read.

    Raises WrongPassword where it was changed since: of two changes by one password one counts.
    """
    with translated(), transaction.atomic():
        now = locked_account(user.pk)
        if now.password != user.password and not check_password(former, now.password):
            raise WrongPassword("This is not your password.")
        set_account_password(now, password, actor=who.actor.id, workspace=who.actor.workspace)


def _gift_of_link(who: Administrator, user_id: int, issuer: str, subject: str) -> Gift:
    return of_person(who, user_id, *(["another login at the provider"] if subject else []))


@guarded(_gift_of_link)
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


def name_of(user_id: int) -> str:
    """The user name of somebody; empty where there is nobody."""
    user = get_user_model()._default_manager.filter(pk=user_id).first()
    return str(user.get_username()) if user else ""


def _superuser(values: Mapping[str, Any]) -> list[str]:
    return ["every right (superuser)"] if values.get("is_superuser") else []


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

    The attempt is an event of the workspace, written once the change is rolled back.
    """
    if user_id != who.actor.user_id or not (refused := RIGHTS["decide"] & roles):
        return
    log.warning("role refused", actor=who.actor.id, roles=sorted(roles))
    error = Forbidden("You cannot make yourself a reviewer. Ask another admin to do it.")
    role = min(refused)
    error.afterwards = partial(store.log_refused_role, workspace, user_id, role, actor=who.actor.id)
    raise error


def _check_still_superuser(who: Administrator) -> None:
    """Let one of two superusers keep the right who take it from each other at the same moment."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('gatepost.superusers', 0))")
    users = get_user_model()._default_manager.filter(is_superuser=True, is_active=True)
    if not users.filter(pk=who.actor.user_id).exists():
        raise Forbidden("Only a superuser takes a superuser's rights.")


def _own_flag(who: Administrator, values: Mapping[str, Any]) -> None:
    if "is_superuser" in values and not who.superuser:
        raise Forbidden("Only a superuser makes superusers.")

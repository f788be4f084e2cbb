"""The people of one workspace with their roles, for the API and the commands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from checkpoints import queries
from dashboard.errors import Conflict, Forbidden, Invalid, Missing
from dashboard.fields.validation import check_text
from dashboard.identity import tokens
from dashboard.identity.administrator import Administrator
from dashboard.identity.permissions import ROLES, require
from dashboard.identity.tokens import TokenRow

from .administration import (
    change_person,
    create_user,
    link_identity,
    people_within_reach,
    revoke_token,
    set_password,
)
from .usernames import USERNAME_MAX

NAME_MAX: Final = 100  # of a workspace

# Of Django's columns; a password is hashed, which takes as long as it is.
LIMITS: Final = {
    "username": USERNAME_MAX,
    "first_name": 150,
    "last_name": 150,
    "email": 254,
    "password": 1_000,
}
SUBJECT_MAX, ISSUER_MAX = 255, 500


@dataclass(frozen=True, slots=True)
class UserRow:
    """A member of the workspace and the roles there."""

    id: int
    username: str
    email: str
    first_name: str
    last_name: str
    is_active: bool
    roles: tuple[str, ...]


def list_users(who: Administrator) -> list[UserRow]:
    """The members of somebody's own workspace by name; Forbidden without the right to audit."""
    if not who.may_audit:
        raise Forbidden("Needs the role auditor or admin.")
    roles = queries.roles_in(who.actor.workspace)
    ids = queries.people_of(who.actor.workspace)
    users = get_user_model()._default_manager.filter(pk__in=ids).order_by("username")
    return [_row(user, roles.get(user.pk, set())) for user in users]


def make_user(
    who: Administrator, username: str, *, password: str | None, roles: Iterable[str], **values: Any
) -> UserRow:
    """A new member with at least one role; see `create_user` for errors."""
    require(who.actor, "people")
    _check_texts({"username": username, "password": password, **values})
    wanted = list(dict.fromkeys(roles))
    check_roles(wanted)
    if not wanted:
        raise Invalid("$.roles", "names no role: without one nobody is a member of the workspace")
    user = create_user(who, username, password=password, roles=wanted, **values)
    return _row(user, set(wanted))


def edit_user(
    who: Administrator,
    user_id: int,
    values: Mapping[str, Any],
    *,
    roles: Iterable[str] | None = None,
) -> UserRow:
    """Change a member's values and roles, all or none; see `change_user` for errors."""
    require(who.actor, "people")
    _check_texts(values)
    user = people_within_reach(who).filter(pk=user_id).first()
    if user is None:
        raise Missing("There is no such user in this workspace.")
    wanted = None if roles is None else list(roles)
    check_roles(wanted or ())
    try:
        change_person(who, user_id, values, wanted)
    except Forbidden as error:
        if error.afterwards is not None:
            error.afterwards()
        raise
    user.refresh_from_db()
    return _row(user, queries.roles_in(who.actor.workspace).get(user_id, set()))


def set_user_password(who: Administrator, user_id: int, password: str | None) -> None:
    """Give a member another password, None for none; their sign-ins end."""
    require(who.actor, "people")
    _check_texts({"password": password})
    if password is not None:
        try:
            validate_password(password)
        except ValidationError as error:
            raise Invalid("$.password", " ".join(error.messages)) from error
    set_password(who, user_id, password)


def list_tokens(who: Administrator) -> list[TokenRow]:
    """The tokens of one's own workspace, newest first; Forbidden without the right to audit."""
    if not who.may_audit:
        raise Forbidden("Needs the role auditor or admin.")
    return tokens.listed(workspace=who.actor.workspace)


def end_token(who: Administrator, prefix: str) -> TokenRow:
    """End a token of one's own workspace for good; it as it is then. Raises Missing."""
    require(who.actor, "people")
    row = None
    if len(prefix) == tokens.PREFIX_LENGTH:
        check_text("$.prefix", prefix, tokens.PREFIX_LENGTH)
        row = next(iter(tokens.listed(prefix=prefix, workspace=who.actor.workspace)), None)
    if row is None:
        raise Missing("There is no token with this prefix in this workspace.")
    revoke_token(who, row)
    return tokens.listed(prefix=prefix)[0]


def link_user(who: Administrator, user_id: int, subject: str, *, issuer: str = "") -> None:
    """Let a provider vouch for a member, named by its `sub`; with an empty one, stop that.

    Without an issuer the provider of the settings. Raises Conflict where there is none, and where
    the subject is another account's.
    """
    require(who.actor, "people")
    issuer = issuer.rstrip("/") or getattr(settings.GATEPOST_OIDC, "issuer", "")
    if not issuer:
        raise Conflict("There is no single sign-on here: set GATEPOST_OIDC_ISSUER.")
    check_text("$.issuer", issuer, ISSUER_MAX)
    if subject:
        check_text("$.subject", subject, SUBJECT_MAX)
    link_identity(who, user_id, issuer, subject)


def user_by_name(who: Administrator, username: str) -> int:
    """The id of a user within an admin's reach; raises Missing."""
    require(who.actor, "people")
    user = people_within_reach(who).filter(username=username).first()
    if user is None:
        raise Missing(f"There is no user {username} in this workspace.")
    return int(user.pk)


def _check_texts(values: Mapping[str, Any]) -> None:
    for name, limit in LIMITS.items():
        if values.get(name) is not None:
            check_text(f"$.{name}", values[name], limit, required=name == "username")


def check_roles(roles: Iterable[str]) -> None:
    """Raise Invalid for the first that is no role."""
    for i, role in enumerate(roles):
        if role not in ROLES:
            raise Invalid(f"$.roles[{i}]", f"is not one of {', '.join(ROLES)}")


def _row(user: Any, roles: Collection[str]) -> UserRow:
    return UserRow(
        user.pk,
        user.get_username(),
        user.email,
        user.first_name,
        user.last_name,
        user.is_active,
        tuple(role for role in ROLES if role in roles),
    )

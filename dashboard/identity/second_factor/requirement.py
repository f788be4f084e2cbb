"""Roles of a workspace that need a second factor, and the people who must have one and have none.

The rule is about people who can sign in by a password. A provider of single sign-on has factors of
its own, and a person without a password has nothing here that a code would stand beside.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model

from checkpoints import queries

from .records import has_factor, with_factor

# What a token or hook of somebody without the factor must not do; a login does nothing at all.
DECIDES: Final = frozenset({"decide", "decide_high", "erase"})
MESSAGE: Final = (
    "Your role in this workspace needs a second factor, and you have none: set it up first "
    "(sign in, then “Second factor”)."
)


def is_missing(user: Any, grant: Any, roles: Collection[str], workspace: UUID) -> bool:
    """Return whether a user with these roles in a workspace lacks a required second factor.

    The rule is the one that was read with the token (`grant`) or the user, where it was: nothing
    more is read then where no role of theirs needs one.
    """
    known = getattr(user, "factor_roles", {}).get(workspace)
    needing: frozenset[str] | None = known if grant is None else grant.factor_roles
    if needing is None:
        needing = roles_needing(workspace)
    if needing.isdisjoint(roles):
        return False
    by_password = settings.GATEPOST_PASSWORDS and user.has_usable_password()
    return by_password and not has_factor(user.pk)


def roles_needing(workspace: UUID) -> frozenset[str]:
    """The roles of a workspace that need a second factor."""
    return queries.second_factor_rules(workspace)[0][2]


def required_in(user: Any) -> list[str]:
    """The names of the workspaces that require a second factor of a user."""
    rules = queries.second_factor_rules()
    theirs = {(ident, role) for ident, _, role in queries.memberships(user.pk)}
    if user.is_superuser and rules:
        theirs.add((rules[0][0], "admin"))  # of the oldest, without a row that says so
    return [
        name for ident, name, needing in rules if any((ident, role) in theirs for role in needing)
    ]


def people_without(workspace: UUID) -> list[str]:
    """The names of those who must have a second factor in a workspace and have none, in order."""
    needing = roles_needing(workspace)
    if not needing or not settings.GATEPOST_PASSWORDS:
        return []
    must = {user for user, roles in queries.roles_in(workspace).items() if roles & needing}
    users = get_user_model()._default_manager.filter(is_active=True)
    if "admin" in needing and workspace == queries.default_workspace():
        must |= set(users.filter(is_superuser=True).values_list("pk", flat=True))
    without: Mapping[int, Any] = users.in_bulk(list(must - with_factor(must)))
    return sorted(u.get_username() for u in without.values() if u.has_usable_password())

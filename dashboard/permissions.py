"""Who may do what: the table of rights, and why a button may not be pressed; no writes.

Roles are rows, read again for each request. `may` and `allowed_actions` look at roles only, so
one rendering can serve everybody with the same roles.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol
from uuid import UUID

from checkpoints import queries
from checkpoints.errors import NotFound
from checkpoints.states import EDITABLE, EventKind, Status, sources
from checkpoints.views import ThreadRow

from .errors import Forbidden

ROLES: Final = ("viewer", "operator", "reviewer", "auditor", "admin")

_OPERATOR: Final = frozenset({"operator"})
_REVIEWER: Final = frozenset({"reviewer"})
_EITHER: Final = _OPERATOR | _REVIEWER

# An admin makes users and policies and decides nothing, so no right here names that role alone.
RIGHTS: Final[dict[str, frozenset[str]]] = {
    "read": frozenset(ROLES),
    "start": _OPERATOR,
    "upload": _OPERATOR,
    "pause": _OPERATOR,
    "resume": _OPERATOR,
    "retry": _OPERATOR,
    "edit": _OPERATOR,
    "cancel": _OPERATOR,
    "fork": _EITHER,
    "roll_back": _EITHER,
    "decide": _REVIEWER,
}

# What can be done to a thread, in the order of its buttons.
THREAD_ACTIONS: Final = ("pause", "resume", "retry", "edit", "fork", "roll_back", "cancel")

_PAUSABLE: Final = (Status.QUEUED, Status.RUNNING, Status.WAITING, Status.SLEEPING)
_FROM: Final[dict[str, tuple[Status, ...]]] = {
    "pause": _PAUSABLE,
    "resume": sources(EventKind.THREAD_RESUMED),
    "retry": sources(EventKind.THREAD_RETRIED),
    "edit": tuple(s for s in Status if s in EDITABLE),
    "fork": tuple(Status),
    "roll_back": sources(EventKind.ROLLBACK_STARTED),
    "cancel": sources(EventKind.THREAD_CANCELLED),
}


class HasRoles(Protocol):
    """Anybody with roles in one workspace."""

    @property
    def roles(self) -> frozenset[str]: ...


@dataclass(frozen=True, slots=True)
class Actor:
    """A person who acts, in the one workspace they act in."""

    user_id: int
    name: str
    workspace: UUID
    workspace_name: str
    roles: frozenset[str]

    @property
    def id(self) -> str:
        """How the log names them."""
        return f"user:{self.user_id}"


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whether something may be done now; `why` says in a sentence what is missing."""

    allowed: bool
    why: str = ""


def actor_of(user: Any) -> Actor:
    """The person behind a Django user, with the roles as they are now.

    With several workspaces the oldest counts. A superuser is an admin of the default workspace.
    Raises Forbidden for whoever is not signed in, not active or a member of nothing.
    """
    if not user.is_authenticated or not user.is_active:
        raise Forbidden("Sign in first.")
    rows = queries.memberships(user.pk)
    roles = {role for workspace, _, role in rows if workspace == rows[0][0]}
    if rows:
        workspace, workspace_name = rows[0][:2]
    elif user.is_superuser:
        workspace, workspace_name = _default_workspace()
    else:
        raise Forbidden("You are not a member of any workspace yet; ask an admin.")
    if user.is_superuser:
        roles.add("admin")
    name = user.get_full_name() or user.get_username()
    return Actor(user.pk, name, workspace, workspace_name, frozenset(roles))


def _default_workspace() -> tuple[UUID, str]:
    try:
        return queries.default_workspace(), "default"
    except NotFound as error:
        raise Forbidden(error.message) from error


def may(actor: HasRoles, action: str) -> bool:
    """Whether the roles allow `action`, whatever the thread's status."""
    return not RIGHTS[action].isdisjoint(actor.roles)


def require(actor: HasRoles, action: str) -> None:
    """Raise Forbidden unless the roles allow `action`."""
    if not may(actor, action):
        raise Forbidden(needs(action))


def needs(action: str) -> str:
    """Which role an action needs, as a sentence."""
    roles = [role for role in ROLES if role in RIGHTS[action]]
    return f"Needs the role {either(roles)}."


def allowed_actions(actor: HasRoles, thread: ThreadRow) -> dict[str, Allowance]:
    """For each of THREAD_ACTIONS whether it is possible now, and in words why not."""
    return {action: _allowance(actor, thread, action) for action in THREAD_ACTIONS}


def _allowance(actor: HasRoles, thread: ThreadRow, action: str) -> Allowance:
    if not may(actor, action):
        return Allowance(False, needs(action))
    if thread.status not in _FROM[action]:
        return Allowance(
            False,
            f"Only while the thread is {either(map(in_words, _FROM[action]))}; "
            f"now it is {in_words(thread.status)}.",
        )
    if action == "pause" and thread.wish == "pause":
        return Allowance(False, "A pause is asked for already; it comes after this step.")
    if action == "roll_back" and thread.number == 0:
        return Allowance(False, "The thread stands at its first checkpoint.")
    return Allowance(True)


def in_words(status: str) -> str:
    """A status as it stands in a sentence."""
    if status == Status.ATTENTION:
        return "in need of attention"
    return str(status).replace("_", " ")


def either(words: Iterable[str]) -> str:
    """a, b or c."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last

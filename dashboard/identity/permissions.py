"""The table of rights, and the reasons why a button is disabled; no writes.

Roles are rows, read again for each request. `may` and `allowed_actions` look at roles only, and
at the scopes of a caller with a token; so one rendering can serve everybody who is signed in
with the same roles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol
from uuid import UUID

from checkpoints import queries
from checkpoints.agent_versions import CAN
from checkpoints.durabilities import NOT_KEPT, SEND_AGAIN
from checkpoints.log.closed_threads import ErasedRow
from checkpoints.states import CANCELLABLE, EDITABLE, TAKES_INPUT, EventKind, Status, sources
from checkpoints.verdicts import question_of
from checkpoints.views import ThreadRow
from dashboard.errors import Conflict, Forbidden, NeedsOwnPassword, NeedsSecondFactor, NotAllowedNow
from gatepost_command import START

from .passwords import is_given
from .second_factor import requirement

# Of a very long name this much is kept beside what the person did, so that a token's fits as well.
NAME_SHOWN: Final = 120
ROLES: Final = ("viewer", "operator", "reviewer", "auditor", "admin")

_OPERATOR: Final = frozenset({"operator"})
_REVIEWER: Final = frozenset({"reviewer"})
_EITHER: Final = _OPERATOR | _REVIEWER

# An admin looks after people, policies, hooks and who is notified of what, and decides nothing.
RIGHTS: Final[dict[str, frozenset[str]]] = {
    "read": frozenset(ROLES),
    "verify": frozenset(ROLES),
    "export": _OPERATOR | {"auditor"},
    "import": _OPERATOR,
    "start": _OPERATOR,
    "work": _OPERATOR,
    "upload": _OPERATOR,
    "pause": _OPERATOR,
    "rename": _OPERATOR,
    "resume": _OPERATOR,
    "move_up": _OPERATOR,
    "retry": _OPERATOR,
    "skip": _OPERATOR,
    "settle": _OPERATOR,
    "code": _OPERATOR,
    "input": _OPERATOR,
    "signal": _OPERATOR,
    "remember": _OPERATOR,
    "memory": _OPERATOR,  # to correct and delete it
    "edit": _OPERATOR,
    "cancel": _OPERATOR,
    "reveal": frozenset(ROLES),  # of them those that the encrypted channel names
    # An operator of a workspace may stop it; to release is the same decision.
    "breaker": _OPERATOR | {"admin"},
    # Nobody erases alone: an admin approves what somebody else has requested.
    "request_erasure": _OPERATOR | {"admin"},
    "erase": frozenset({"admin"}),
    "hold": frozenset({"admin"}),
    "retention": frozenset({"admin"}),
    # Who takes care of trouble: those who can do something about it.
    "incident": _EITHER | {"admin"},
    # Everybody chooses what news they get, and keeps boards under names, which they may share.
    "subscribe": frozenset(ROLES),
    "save_view": frozenset(ROLES),
    # Who acts for a reviewer who is away: they themselves say so, or an admin.
    "delegate": _REVIEWER | {"admin"},
    "fork": _EITHER,
    "roll_back": _EITHER,
    "decide": _REVIEWER,
    # What a token needs beside it while step-up is on; people confirm that it is them.
    "decide_high": _REVIEWER,
    # No token has a scope for it: the rules that hold agents are changed by people who are there.
    "policy": frozenset({"admin"}),
    "notify": frozenset({"admin"}),
    "hook": frozenset({"admin"}),
    "mcp": frozenset({"admin"}),
    "people": frozenset({"admin"}),
    # To confirm what another admin asked for; no token has a scope for it.
    "access": frozenset({"admin"}),
    # Everybody ends what they are signed in with themselves.
    "sign_ins": frozenset(ROLES),
    # No token has a scope for it: only somebody who is there shows who they are.
    "confirm": frozenset(ROLES),
    # That a hook's word stands for oneself; no token says so.
    "stand_for": frozenset(ROLES),
    # A directory keeps people and groups; the call asks for a superuser's token besides.
    "scim": frozenset({"admin"}),
}

# What a token can be narrowed to. Each scope reads, since every call answers what is there, but
# for that of a directory, which has calls of its own and no business with threads.
SCOPES: Final[dict[str, frozenset[str]]] = {
    "read": frozenset({"read", "verify", "export"}),
    "reveal": frozenset({"read", "reveal"}),
    "start": frozenset({"read", "start", "upload", "input", "import"}),
    # A service that brings news from outside, and does nothing else.
    "signal": frozenset({"read", "signal"}),
    # What agents know: added, corrected, deleted. Before `work`: a refusal names the first.
    "memory": frozenset({"read", "remember", "memory"}),
    # What an agent elsewhere does: it takes threads and reports. It decides nothing.
    "work": frozenset({"read", "work", "remember"}),
    "control": frozenset(
        {
            *("read", "pause", "resume", "retry", "skip", "settle", "code", "cancel", "edit"),
            *("breaker", "rename", "move_up"),
        }
    ),
    # Taking care of trouble, and choosing what news one gets.
    "incidents": frozenset({"read", "incident", "subscribe"}),
    "views": frozenset({"read", "save_view"}),
    "fork": frozenset({"read", "fork", "roll_back"}),
    "decide": frozenset({"read", "decide", "delegate"}),
    # Also what has high risk, which else only somebody decides who has just shown who they are.
    "decide_high": frozenset({"read", "decide", "decide_high"}),
    # Only to request it: a token approves no erasure unless it administers.
    "erase": frozenset({"read", "request_erasure"}),
    "administer": frozenset(
        {
            *("read", "notify", "hook", "mcp", "people", "sign_ins", "delegate"),
            *("erase", "hold", "retention"),
        }
    ),
    "scim": frozenset({"scim"}),
}

# What nobody does by a password that somebody else chose, and so knows.
OWN_PASSWORD: Final = requirement.DECIDES | {"access", "delegate", "stand_for"}
_NOT_OWN: Final = (
    "Somebody else set your password, and knows it. Change it before you decide: your menu, "
    "Sign-ins, Password (/account/password/)."
)
_REFUSALS: Final = {requirement.MESSAGE: NeedsSecondFactor, _NOT_OWN: NeedsOwnPassword}

# What can be done to a thread, in the order of its buttons.
THREAD_ACTIONS: Final = (
    "pause",
    "resume",
    "retry",
    "skip",
    "settle",
    "input",
    "signal",
    "edit",
    "fork",
    "roll_back",
    "cancel",
)

_PAUSABLE: Final = (Status.QUEUED, Status.RUNNING, Status.WAITING, Status.SLEEPING)
_FROM: Final[dict[str, tuple[Status, ...]]] = {
    "pause": _PAUSABLE,
    "resume": sources(EventKind.THREAD_RESUMED),
    "retry": sources(EventKind.THREAD_RETRIED),
    "skip": sources(EventKind.NODE_SKIPPED),
    "settle": (Status.ATTENTION,),
    "input": tuple(s for s in Status if s in TAKES_INPUT),
    "signal": tuple(s for s in Status if s in TAKES_INPUT),
    "edit": tuple(s for s in Status if s in EDITABLE),
    "fork": tuple(Status),
    "roll_back": sources(EventKind.ROLLBACK_STARTED),
    "cancel": tuple(s for s in Status if s in CANCELLABLE),
}


# What needs a record that an ephemeral thread has not.
_WITHOUT_RECORD: Final = {
    "edit": "be edited",
    "fork": "be forked",
    "roll_back": "be rolled back",
    "skip": "skip a node",
    "settle": "have effects to settle",
    "signal": "wait for a signal",
    "upload": "have files",
}


class HasRoles(Protocol):
    """Anybody with roles in one workspace."""

    @property
    def roles(self) -> frozenset[str]: ...


@dataclass(frozen=True, slots=True)
class Grant:
    """The grant of a token or an inbound hook: a workspace, and scopes that narrow roles.

    `kind` is token, hook or script, `prefix` its name in the log, `factor_roles` are the roles of
    the workspace that need a second factor where they were read with it.
    """

    prefix: str
    label: str
    workspace: UUID
    workspace_name: str
    scopes: frozenset[str]
    kind: str = "token"
    factor_roles: frozenset[str] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Login:
    """A login of a browser: its key, and when its person last showed who they are."""

    key: str
    confirmed_at: datetime | None = None
    by_password: bool = False


@dataclass(frozen=True, slots=True)
class Actor:
    """A person who acts, in the one workspace they act in, signed in or through a token."""

    user_id: int
    name: str
    workspace: UUID
    workspace_name: str
    roles: frozenset[str]
    grant: Grant | None = None
    # (id, name) of all workspaces they may choose from, the oldest first.
    places: tuple[tuple[UUID, str], ...] = field(default=(), compare=False, repr=False)
    # What the browser that they act through is signed in as; None through a token or a command.
    login: Login | None = field(default=None, compare=False, repr=False)
    # (user name, groups) where they were read together with the roles.
    seat: tuple[str, tuple[str, ...]] | None = field(default=None, compare=False, repr=False)
    # For whom they may act, read once at most (`identity.seats`).
    represents: Any = field(default=None, compare=False, repr=False)
    # Must have a second factor and has none: a login does nothing then, a token decides nothing.
    lacks_factor: bool = field(default=False, compare=False)
    # Signed in by a password that somebody else set.
    password_given: bool = field(default=False, compare=False)

    @property
    def person(self) -> str:
        """The person's id, whatever they act through: `user:7`."""
        return f"user:{self.user_id}"

    @property
    def id(self) -> str:
        """The actor's id in the log: `user:7`, `user:7/token:<prefix>` or `user:7/hook:<name>`."""
        grant = self.grant
        return f"{self.person}/{grant.kind}:{grant.prefix}" if grant else self.person


@dataclass(frozen=True, slots=True)
class Allowed:
    """Permission for an action now, and what is missing."""

    allowed: bool
    why: str = ""


def actor_of(user: Any, grant: Grant | None = None) -> Actor:
    """The person behind a Django user, with the roles as they are now.

    With several workspaces the one counts that their login has chosen (`user.acts_in`), else the
    oldest; with a token that of the token. A superuser is an
    admin of the default workspace. Raises Forbidden for a user who is not signed in, not active
    or a member of nothing.
    """
    if not user.is_authenticated or not user.is_active:
        raise Forbidden("Sign in first.")
    read: queries.Member | None = getattr(user, "read_now", None)
    if read is not None:
        user.read_now = None  # the next reader asks the database
    rows = queries.memberships(user.pk) if read is None else read.memberships
    seat = None if read is None else (str(user.get_username()), read.groups)
    name = str(user.get_full_name() or user.get_username())[:NAME_SHOWN]
    places = () if grant else tuple(dict.fromkeys(row[:2] for row in rows))
    if chosen := grant.workspace if grant else getattr(user, "acts_in", None):
        theirs = [row for row in rows if row[0] == chosen]
        # A person who is no longer a member of the chosen one is back in their oldest.
        rows = theirs if grant else theirs or rows
    if grant:
        name = f"{name} ({grant.kind} {grant.label})"
    roles = {role for workspace, _, role in rows if workspace == rows[0][0]}
    if rows:
        workspace, workspace_name = rows[0][:2]
    elif not user.is_superuser:
        where = f"the {grant.kind}'s workspace any more" if grant else "any workspace yet"
        raise Forbidden(f"You are not a member of {where}; ask an admin.")
    elif grant:
        workspace, workspace_name = grant.workspace, grant.workspace_name
    else:
        workspace, workspace_name = _default_workspace(user)
    if user.is_superuser:
        roles.add("admin")
    login = None if grant else getattr(user, "login", None)
    looked = grant is not None or (login is not None and login.by_password)
    return Actor(
        user.pk,
        name,
        workspace,
        workspace_name,
        frozenset(roles),
        grant,
        places,
        login,
        seat,
        lacks_factor=looked and requirement.is_missing(user, grant, roles, workspace),
        password_given=login is not None and login.by_password and is_given(user.password),
    )


def _default_workspace(user: Any) -> tuple[UUID, str]:
    """The oldest workspace and its name; its rule of second factors is read along."""
    oldest = queries.second_factor_rules(limit=1)
    if not oldest:
        raise Forbidden(f"There is no workspace yet; `{START}` makes one.")
    workspace, name, needing = oldest[0]
    user.factor_roles = {workspace: needing}
    return workspace, name


def may(actor: HasRoles, action: str) -> bool:
    """True if roles and token allow `action`, whatever the thread's status."""
    return not lacks(actor, action)


def require(actor: HasRoles, action: str) -> None:
    """Raise Forbidden unless roles and token allow `action`."""
    if message := lacks(actor, action):
        raise _REFUSALS.get(message, Forbidden)(message)


def lacks(actor: HasRoles, action: str) -> str:
    """Explain what `action` needs and the actor lacks, as a sentence; empty if nothing."""
    if RIGHTS[action].isdisjoint(actor.roles):
        return needs(action)
    grant = getattr(actor, "grant", None)
    if getattr(actor, "lacks_factor", False) and (grant is None or action in requirement.DECIDES):
        return requirement.MESSAGE
    if getattr(actor, "password_given", False) and action in OWN_PASSWORD:
        return _NOT_OWN
    if grant is None or any(action in SCOPES.get(scope, ()) for scope in grant.scopes):
        return ""
    scope = scope_of(action)
    if scope:
        return f"This {grant.kind} lacks the scope '{scope}'."
    if action == "policy":
        return f"No {grant.kind} changes policies or limits of spending: sign in to change them."
    return f"No {grant.kind} may do this."


def scope_of(action: str) -> str:
    """The first scope that opens an action; empty where none does."""
    return next((scope for scope, actions in SCOPES.items() if action in actions), "")


def needs(action: str) -> str:
    """Which role an action needs, as a sentence."""
    roles = [role for role in ROLES if role in RIGHTS[action]]
    return f"Needs the role {either(roles)}."


def allowed_actions(actor: HasRoles, thread: ThreadRow) -> dict[str, Allowed]:
    """For each of THREAD_ACTIONS whether it is possible now, and in words why not."""
    return {action: _allowance(actor, thread, action) for action in THREAD_ACTIONS}


def _allowance(actor: HasRoles, thread: ThreadRow, action: str) -> Allowed:
    if message := lacks(actor, action):
        return Allowed(False, message)
    if thread.erased is not None:
        return Allowed(False, closed(thread.erased))
    if message := beyond(thread, action):
        return Allowed(False, message)
    if action == "input" and not thread.message_channel:
        return Allowed(False, no_message_channel(thread))
    # Each turn ends an ephemeral thread, and the next message begins another one.
    takes_next = action == "input" and thread.is_ephemeral and thread.status == Status.SUCCEEDED
    if thread.status not in _FROM[action] and not takes_next:
        return Allowed(
            False,
            f"Only possible while the thread is {either(map(in_words, _FROM[action]))}; "
            f"now it is {in_words(thread.status)}.",
        )
    if action == "settle" and question_of(thread.status, thread.waiting_on) is None:
        return Allowed(False, "The thread has no open question about an effect.")
    if action == "pause" and thread.wish == "pause":
        return Allowed(False, "A pause is already requested; it comes after this step.")
    if action == "roll_back" and thread.number == 0:
        return Allowed(False, "The thread is at its first checkpoint.")
    return Allowed(True)


def reachable(counts: Mapping[str, int], action: str) -> dict[str, int]:
    """Those of threads counted by status in which `action` is possible; held ones wait."""
    possible = {*map(str, _FROM[action]), *(["held"] if Status.WAITING in _FROM[action] else [])}
    return {status: n for status, n in counts.items() if status in possible}


def beyond(thread: ThreadRow, action: str) -> str:
    """Explain why the thread's agent could not continue after this action; empty if it can."""
    if thread.is_ephemeral and (done := _WITHOUT_RECORD.get(action)):
        return f"{NOT_KEPT} It can’t {done}."
    if thread.is_ephemeral and action == "retry" and thread.status == Status.FAILED:
        return SEND_AGAIN
    external = thread.external
    if external is not None and external.watched and action in THREAD_ACTIONS:
        return f"{thread.agent} is watched, not controlled: nothing done here reaches it."
    if external is not None and action == "signal":
        return f"{thread.agent} works elsewhere: only agents that work here wait for signals."
    if external is not None and action == "skip":
        return f"{thread.agent} works elsewhere: only its own code can go past a step."
    if external is None or action not in CAN or action in external.can:
        return ""
    what = {"edit": "an edit", "fork": "a fork", "roll_back": "a rollback"}[action]
    by = f" ({external.framework})" if external.framework else ""
    return f"{thread.agent}{by} works elsewhere and says that it can't continue from {what}."


def refuse_beyond(thread: ThreadRow, action: str) -> None:
    """Raise Conflict where a thread is closed, or its agent could not continue after this."""
    if thread.erased is not None:
        raise NotAllowedNow(closed(thread.erased), status=str(thread.status))
    if message := beyond(thread, action):
        raise Conflict(message, status=str(thread.status))


def closed(erased: ErasedRow) -> str:
    """Say why nothing can be done to a thread whose content was erased, as a sentence."""
    return f"This thread is closed. {erased.sentence}"


def no_message_channel(thread: ThreadRow) -> str:
    """Explain in a sentence why an agent takes no new input."""
    return (
        f"{thread.agent} accepts no new input: its graph names no message channel. "
        "Edit the state instead."
    )


def in_words(status: str) -> str:
    """A status as it stands in a sentence."""
    if status == Status.ATTENTION:
        return "in need of attention"
    return str(status).replace("_", " ")


def either(words: Iterable[str]) -> str:
    """a, b or c."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last

"""Rights of a set of roles as templates ask for them; the person does not matter here."""

from __future__ import annotations

from dataclasses import dataclass

from checkpoints.queries.why import awaited_signals
from checkpoints.views import ThreadRow
from dashboard.fields.shapes import Action, Rights
from dashboard.identity.permissions import allowed_actions, may

Roles = frozenset[str]
# Names of the actions on pages; the API says roll_back, URLs and buttons say rollback.
VERBS = {"roll_back": "rollback"}


@dataclass(frozen=True, slots=True)
class Class:
    """A rights class: everybody with these roles sees the same region."""

    roles: Roles


def rights_of(roles: Roles) -> Rights:
    """List the rights that these roles give."""
    who = Class(roles)
    return Rights(
        start=may(who, "start"),
        control=may(who, "pause"),
        edit=may(who, "edit"),
        fork=may(who, "fork"),
        rollback=may(who, "roll_back"),
        decide=may(who, "decide"),
        export=may(who, "export"),
        stop=may(who, "breaker"),
        erase=may(who, "request_erasure"),
    )


def actions_of(roles: Roles, thread: ThreadRow) -> list[Action]:
    """The buttons of a thread; pause and resume share a place, retry shows when it can help."""
    allowed = allowed_actions(Class(roles), thread)
    hidden = {"resume" if allowed["pause"].allowed or thread.status != "paused" else "pause"}
    if thread.status not in ("failed", "attention"):
        hidden.add("retry")
    if not allowed["skip"].allowed:
        hidden.add("skip")
    hidden |= {"input", "settle"}  # their forms stand on the page
    if thread.is_ephemeral:
        hidden |= {"edit", "fork", "roll_back"}  # the facts say why
    if not awaited_signals(thread):
        hidden.add("signal")
    if allowed["settle"].allowed:
        hidden.add("retry")  # it would only ask again
    return [
        Action(VERBS.get(name, name), allowance.allowed, allowance.why)
        for name, allowance in allowed.items()
        if name not in hidden
    ]

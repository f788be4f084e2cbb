"""One action on many threads: a preview of each, then the action, thread by thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from checkpoints import queries
from checkpoints.errors import NotFound
from checkpoints.views import EffectFate, ThreadRow
from dashboard.errors import ActionError, Conflict, Invalid, Missing, NotAllowedNow
from dashboard.fields.validation import REASON_MAX, check_text
from dashboard.identity.permissions import Actor, allowed_actions, require
from dashboard.kit.shapes.requests import Nothing
from dashboard.threads.cancel import cancel, preview_cancel
from dashboard.threads.edit import edit, preview_edit
from dashboard.threads.roll_back import preview_roll_back, roll_back

from .pause import PAUSE, RESUME, Pause, Resume
from .retry import RETRY
from .skip import SKIP, Skip, skippable

AT_ONCE: Final = 200
BULK_ACTIONS: Final = ("pause", "resume", "retry", "edit", "skip", "cancel", "roll_back")
NEEDS_REASON: Final = ("edit", "skip", "cancel", "roll_back")


@dataclass(frozen=True, slots=True)
class BulkAction:
    """An action for many threads. `to`: the number of the checkpoint of a rollback.

    `undo`: a cancelled thread first undoes, last first, what it did outside. `changes`: new values
    by channel, for threads of one agent version; with `then_retry` an edited thread continues.
    """

    name: str
    to: int | None = None
    undo: bool = False
    reason: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    then_retry: bool = False

    def check(self, actor: Actor, *, sure: bool) -> None:
        """Refuse what could be done to no thread; raises Forbidden, Invalid."""
        if self.name not in BULK_ACTIONS:
            raise Invalid("$.action", f"must be one of {', '.join(BULK_ACTIONS)}")
        require(actor, self.name)
        check_text("$.reason", self.reason, REASON_MAX, required=sure and self.name in NEEDS_REASON)
        if self.name == "roll_back" and self.to is None:
            raise Invalid("$.to", "name the checkpoint by its number")
        if self.name != "roll_back" and self.to is not None:
            raise Invalid("$.to", "goes with roll_back alone")
        if bool(self.changes) != (self.name == "edit"):
            raise Invalid("$.changes", "go with edit, which needs at least one")
        if self.then_retry and self.name != "edit":
            raise Invalid("$.then_retry", "goes with edit alone")
        if self.undo and self.name != "cancel":
            raise Invalid("$.undo", "goes with cancel alone")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One of the threads: judged beforehand, or acted on.

    `row` is None where the workspace has no such thread; `error` says why nothing is done. The
    numbers count its effects outside that the action reaches. `before` and `after` are the values
    that an edit changes, `node` is what a skip passes.
    """

    thread: UUID
    row: ThreadRow | None = None
    error: ActionError | None = None
    undone: int = 0
    stays: int = 0
    unknown: int = 0
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    node: str = ""

    @property
    def edited(self) -> list[tuple[str, Any, Any]]:
        """(channel, value before, value after) of what an edit changes."""
        return [(name, self.before[name], self.after[name]) for name in self.before]

    @property
    def why(self) -> str:
        """The reason that nothing is done, as a sentence; empty where it is."""
        return "" if self.error is None else self.error.detail


def preview_many(actor: Actor, action: BulkAction, threads: Sequence[UUID]) -> list[Outcome]:
    """Judge each thread as it is now, in their order; writes nothing."""
    action.check(actor, sure=False)
    many = _each_once(threads)
    version = _version_of(actor, action, many)
    return [_preview(actor, action, ident, version) for ident in many]


def act_on_many(
    actor: Actor,
    action: BulkAction,
    threads: Sequence[UUID],
    versions: Mapping[UUID, int] | None = None,
) -> list[Outcome]:
    """Do it to each thread, in a transaction of its own: one that is refused stops no other.

    `versions` are those that were looked at; a thread that has moved since is left alone.
    """
    action.check(actor, sure=True)
    seen = versions or {}
    many = _each_once(threads)
    version = _version_of(actor, action, many)
    return [_act(actor, action, ident, seen.get(ident), version) for ident in many]


def possible(actor: Actor, rows: Sequence[ThreadRow]) -> dict[str, int]:
    """For each action, how many of these threads it can be done to now."""
    allowed = [allowed_actions(actor, row) for row in rows]
    return {name: sum(one[name].allowed for one in allowed) for name in BULK_ACTIONS}


def _each_once(threads: Sequence[UUID]) -> list[UUID]:
    many = list(dict.fromkeys(threads))
    if not 1 <= len(many) <= AT_ONCE:
        raise Invalid("$.threads", f"are {len(many):,}; 1 to {AT_ONCE} are taken together")
    return many


def _version_of(actor: Actor, action: BulkAction, threads: Sequence[UUID]) -> UUID | None:
    """The agent version whose threads an edit reaches: that of the first of them."""
    if action.name != "edit":
        return None
    known = queries.in_workspace(threads, workspace=actor.workspace)
    first = next((ident for ident in threads if ident in known), None)
    if first is None:
        return None
    return queries.thread(first, workspace=actor.workspace).agent_version_id


def _same_agent(row: ThreadRow, version: UUID | None) -> None:
    if version is not None and row.agent_version_id != version:
        raise Conflict(
            "It is of another version of the agent, or of another agent, than the first thread.",
            status=str(row.status),
        )


def _node_of(row: ThreadRow) -> str:
    """The node that comes next; raises Invalid where it is not one alone."""
    nodes = skippable(row, queries.agent_version(row.agent_version_id))
    if len(nodes) != 1:
        raise Invalid("$.node", f"{len(nodes)} nodes come next; skip one on the thread's page")
    return nodes[0]


def _preview(actor: Actor, action: BulkAction, ident: UUID, version: UUID | None) -> Outcome:
    try:
        row = queries.thread(ident, workspace=actor.workspace)
    except NotFound as error:
        return Outcome(ident, error=Missing(error.message))
    allowance = allowed_actions(actor, row)[action.name]
    if not allowance.allowed:
        return Outcome(ident, row, NotAllowedNow(allowance.why))
    try:
        _same_agent(row, version)
        effects = _reached(actor, action, row)
        if action.name == "skip":
            return Outcome(ident, row, node=_node_of(row))
        if action.name == "edit":
            plan = preview_edit(actor, row.id, action.changes, reason=action.reason)
            if not plan.before:
                return Outcome(ident, row, Conflict(_SAME, status=str(row.status)))
            return Outcome(ident, row, before=plan.before, after=action.changes)
    except ActionError as error:
        return Outcome(ident, row, error)
    fates = [effect.fate for effect in effects]
    return Outcome(
        ident,
        row,
        undone=fates.count("undoable"),
        stays=fates.count("stays"),
        unknown=fates.count("unknown"),
    )


def _reached(actor: Actor, action: BulkAction, row: ThreadRow) -> Sequence[EffectFate]:
    if action.name == "cancel":
        return preview_cancel(actor, row.id, undo_effects=action.undo).all_effects
    if action.name == "roll_back":
        return preview_roll_back(actor, row.id, _target(action, row)).effects
    return ()


def _target(action: BulkAction, row: ThreadRow) -> UUID:
    if action.to is None or action.to >= row.number:
        raise Invalid("$.to", f"must be before its newest checkpoint, #{row.number}")
    try:
        return queries.checkpoint_by_number(row.id, action.to).id
    except NotFound as error:
        raise Missing(error.message) from error


_SAME: Final = "It has this value already."


def _act(
    actor: Actor, action: BulkAction, ident: UUID, seen: int | None, version: UUID | None
) -> Outcome:
    row = None
    try:
        row = queries.thread(ident, workspace=actor.workspace)
        _same_agent(row, version)
        _CALLS[action.name](actor, action, row, {"expected_version": seen})
        return Outcome(ident, queries.thread(ident, workspace=actor.workspace))
    except NotFound as error:
        return Outcome(ident, error=Missing(error.message))
    except ActionError as error:
        return Outcome(ident, row, error)


def _edit(actor: Actor, action: BulkAction, row: ThreadRow, seen: dict[str, Any]) -> None:
    with transaction.atomic():
        edit(actor, row.id, action.changes, action.reason, **seen)
        if action.then_retry:
            RETRY.run(actor, Nothing(), row.id)


_CALLS: Final[dict[str, Callable[[Actor, BulkAction, ThreadRow, dict[str, Any]], object]]] = {
    "pause": lambda who, action, row, seen: PAUSE.run(
        who, Pause(reason=action.reason), row.id, **seen
    ),
    "resume": lambda who, action, row, seen: RESUME.run(who, Resume(), row.id, **seen),
    "retry": lambda who, action, row, seen: RETRY.run(who, Nothing(), row.id, **seen),
    "edit": _edit,
    "skip": lambda who, action, row, seen: SKIP.run(
        who, Skip(node=_node_of(row), reason=action.reason), row.id, **seen
    ),
    "cancel": lambda who, action, row, seen: cancel(
        who, row.id, action.reason, action.undo, **seen
    ),
    "roll_back": lambda who, action, row, seen: roll_back(
        who, row.id, _target(action, row), action.reason, **seen
    ),
}

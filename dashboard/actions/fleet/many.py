"""One action on many threads: what would become of each, then the deed, each by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from checkpoints import queries
from checkpoints.errors import NotFound
from checkpoints.views import EffectFate, ThreadRow
from dashboard.actions.cancellation import cancel, preview_cancel
from dashboard.actions.threads import pause, preview_roll_back, resume, retry, roll_back
from dashboard.errors import ActionError, Invalid, Missing, NotAllowedNow
from dashboard.fields.validation import REASON_MAX, check_text
from dashboard.identity.permissions import Actor, allowed_actions, require

AT_ONCE: Final = 200
DEEDS: Final = ("pause", "resume", "retry", "cancel", "roll_back")
NEEDS_REASON: Final = ("cancel", "roll_back")


@dataclass(frozen=True, slots=True)
class Deed:
    """An action for many threads. `to`: the number of the checkpoint of a rollback.

    `undo`: a cancelled thread first undoes, last first, what it did outside.
    """

    name: str
    to: int | None = None
    undo: bool = False
    reason: str = ""

    def check(self, actor: Actor, *, sure: bool) -> None:
        """Refuse what could be done to no thread; raises Forbidden, Invalid."""
        if self.name not in DEEDS:
            raise Invalid("$.action", f"must be one of {', '.join(DEEDS)}")
        require(actor, self.name)
        check_text("$.reason", self.reason, REASON_MAX, required=sure and self.name in NEEDS_REASON)
        if self.name == "roll_back" and self.to is None:
            raise Invalid("$.to", "name the checkpoint by its number")
        if self.name != "roll_back" and self.to is not None:
            raise Invalid("$.to", "goes with roll_back alone")
        if self.undo and self.name != "cancel":
            raise Invalid("$.undo", "goes with cancel alone")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One of the threads: judged beforehand, or acted on.

    `row` is None where the workspace has no such thread; `error` says why nothing is done. The
    numbers count its effects outside that the deed reaches.
    """

    thread: UUID
    row: ThreadRow | None = None
    error: ActionError | None = None
    undone: int = 0
    stays: int = 0
    unknown: int = 0

    @property
    def why(self) -> str:
        """The reason that nothing is done, as a sentence; empty where it is."""
        return "" if self.error is None else self.error.detail


def preview_many(actor: Actor, deed: Deed, threads: Sequence[UUID]) -> list[Outcome]:
    """Judge each thread as it is now, in their order; writes nothing."""
    deed.check(actor, sure=False)
    return [_preview(actor, deed, ident) for ident in _each_once(threads)]


def act_on_many(
    actor: Actor, deed: Deed, threads: Sequence[UUID], versions: Mapping[UUID, int] | None = None
) -> list[Outcome]:
    """Do it to each thread, in a transaction of its own: one that is refused stops no other.

    `versions` are those that were looked at; a thread that has moved since is left alone.
    """
    deed.check(actor, sure=True)
    seen = versions or {}
    return [_act(actor, deed, ident, seen.get(ident)) for ident in _each_once(threads)]


def possible(actor: Actor, rows: Sequence[ThreadRow]) -> dict[str, int]:
    """For each deed how many of these threads it can be done to now."""
    allowed = [allowed_actions(actor, row) for row in rows]
    return {name: sum(one[name].allowed for one in allowed) for name in DEEDS}


def _each_once(threads: Sequence[UUID]) -> list[UUID]:
    many = list(dict.fromkeys(threads))
    if not 1 <= len(many) <= AT_ONCE:
        raise Invalid("$.threads", f"are {len(many):,}; 1 to {AT_ONCE} are taken together")
    return many


def _preview(actor: Actor, deed: Deed, ident: UUID) -> Outcome:
    try:
        row = queries.thread(ident, workspace=actor.workspace)
    except NotFound as error:
        return Outcome(ident, error=Missing(error.message))
    allowance = allowed_actions(actor, row)[deed.name]
    if not allowance.allowed:
        return Outcome(ident, row, NotAllowedNow(allowance.why))
    try:
        effects = _reached(actor, deed, row)
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


def _reached(actor: Actor, deed: Deed, row: ThreadRow) -> Sequence[EffectFate]:
    if deed.name == "cancel":
        return preview_cancel(actor, row.id, undo_effects=deed.undo).all_effects
    if deed.name == "roll_back":
        return preview_roll_back(actor, row.id, _target(deed, row)).effects
    return ()


def _target(deed: Deed, row: ThreadRow) -> UUID:
    if deed.to is None or deed.to >= row.number:
        raise Invalid("$.to", f"must be before its newest checkpoint, #{row.number}")
    try:
        return queries.checkpoint_by_number(row.id, deed.to).id
    except NotFound as error:
        raise Missing(error.message) from error


def _act(actor: Actor, deed: Deed, ident: UUID, version: int | None) -> Outcome:
    row = None
    try:
        row = queries.thread(ident, workspace=actor.workspace)
        _CALLS[deed.name](actor, deed, row, {"expected_version": version})
        return Outcome(ident, queries.thread(ident, workspace=actor.workspace))
    except NotFound as error:
        return Outcome(ident, error=Missing(error.message))
    except ActionError as error:
        return Outcome(ident, row, error)


_CALLS: Final[dict[str, Callable[[Actor, Deed, ThreadRow, dict[str, Any]], object]]] = {
    "pause": lambda who, deed, row, seen: pause(who, row.id, reason=deed.reason, **seen),
    "resume": lambda who, deed, row, seen: resume(who, row.id, **seen),
    "retry": lambda who, deed, row, seen: retry(who, row.id, **seen),
    "cancel": lambda who, deed, row, seen: cancel(who, row.id, deed.reason, deed.undo, **seen),
    "roll_back": lambda who, deed, row, seen: roll_back(
        who, row.id, _target(deed, row), deed.reason, **seen
    ),
}

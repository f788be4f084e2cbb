"""The effects of a node that were done before it asked, for page, mail, API and report."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from pydantic import Field

from checkpoints import queries as threads
from checkpoints.state import deltas, marked
from checkpoints.views import ActivityRow

from ..queries import ApprovalRow

PRIOR_MAX: Final = 50
RESULT_MAX: Final = 300
_STATES: Final = {
    "done": "done",
    "started": "started, outcome not known yet",
    "failed": "failed",
    "unknown": "outcome unknown",
    "compensated": "done, then undone",
}


@dataclass(frozen=True, slots=True)
class PriorRow:
    """An effect of the same node and step that began before the request was made."""

    activity: UUID
    tool: str
    sentence: Annotated[str, Field(description="The tool's description of the call, or empty.")]
    state: str
    at: datetime
    result: Annotated[str, Field(description="The beginning of its result, as JSON.")]
    undo: Annotated[str, Field(description="The tool that undoes it; empty: it cannot be undone.")]

    @property
    def fate(self) -> str:
        """Outcome, and whether it can be undone, in words."""
        state = _STATES.get(self.state, self.state)
        if self.state in ("failed", "compensated"):
            return state
        return f"{state}; {'it can be undone' if self.undo else 'it cannot be undone'}"


@dataclass(frozen=True, slots=True)
class PriorEffects:
    """The first PRIOR_MAX of them, oldest first; `complete`: there are no more."""

    rows: tuple[PriorRow, ...] = ()
    complete: bool = True


def prior_effects(row: ApprovalRow) -> PriorEffects:
    """Read what the node of a request had done before it asked; none for a person's operation."""
    if row.kind == "operation" or not row.node:
        return PriorEffects()
    some = threads.effects_before(
        row.thread,
        branch=row.branch,
        step=row.step,
        node=row.node,
        at=row.requested_at,
        limit=PRIOR_MAX + 1,
    )
    return PriorEffects(tuple(_prior(one) for one in some[:PRIOR_MAX]), len(some) <= PRIOR_MAX)


def _prior(row: ActivityRow) -> PriorRow:
    result = "" if row.result is None else deltas.canonical(marked.shown(row.result)).decode()
    if len(result) > RESULT_MAX:
        result = f"{result[: RESULT_MAX - 1]}…"
    at = row.finished_at or row.started_at
    return PriorRow(row.id, row.tool, row.sentence, row.state, at, result, row.undo)

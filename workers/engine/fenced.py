"""What is said of a worker whose write was refused, since its thread was taken away."""

from __future__ import annotations

from typing import Any

from checkpoints.records import Work
from checkpoints.states import EventKind, Status
from checkpoints.store import NewEvent

from ..step.ledger import Ledger


def fenced_event(work: Work, ledger: Ledger) -> NewEvent:
    """`step.fenced`, with the key of each effect of the step that had started and not ended.

    What such a one has done outside by now cannot be recorded; by its key it can be looked for.
    """
    step = work.step + 1
    data: dict[str, Any] = {"owner": work.owner, "fence": work.fence, "step": step}
    if work.status is not Status.ROLLING_BACK:
        effects = [
            {"activity": str(a.id), "tool": a.tool, "idempotency_key": a.idempotency_key}
            for a in ledger.recorded(work, step)
            if a.kind == "effect" and a.state in ("started", "unknown")
        ]
        if effects:
            data["effects"] = effects
    return NewEvent(EventKind.STEP_FENCED, data, work.owner)

"""Effects that an agent elsewhere began and nobody settled: whether they happened is unknown."""

from __future__ import annotations

from collections.abc import Sequence

from checkpoints import queries, store
from checkpoints.errors import NotAllowedNow
from checkpoints.queries import UnsettledEffect
from checkpoints.queries.installation.fleet import announced_tool
from checkpoints.records import Work
from checkpoints.states import Status

from ..engine.step_outcomes import park
from ..node.unknown_effects import NEVER_SETTLED, unknown_outcome
from .open_step import ReportedLedger


def stop_at_unsettled(work: Work) -> bool:
    """Leave a thread to a person where its former holder left effects open; whether it was left.

    An effect of a tool that is announced as idempotent stays begun in the step in progress: begun
    again, it is the same call under the same key.
    """
    version = work.agent_version
    open_ones = [
        effect
        for effect in queries.unsettled_effects(work.thread)
        if effect.earlier
        or effect.state == "unknown"
        or not (announced_tool(version, effect.tool) or {}).get("idempotent")
    ]
    for effect in open_ones:
        store.note_unknown(work, effect.id)
    if open_ones:
        first = open_ones[0]
        park(
            ReportedLedger(),
            work,
            unknown_outcome(first.tool, first.id, NEVER_SETTLED),
        )
    return bool(open_ones)


def refuse_unsettled(work: Work, effects: Sequence[UnsettledEffect]) -> None:
    """Raise NotAllowedNow where an effect has to be settled first, of this step or before."""
    begun = [effect for effect in effects if effect.state == "started"]
    if not begun or work.status is Status.ROLLING_BACK:
        return
    tool, activity = begun[0].tool, str(begun[0].id)
    raise NotAllowedNow(
        f"{tool!r} began and is not settled. Settle it first: done, failed, or unknown where "
        "nobody knows whether it happened.",
        status=str(work.status),
        effect=tool,
        activity=activity,
    )

"""Icons and tones of events: shape and colour of a kind, beside the sentence that tells it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from approvals.policies import queries as queries_policies
from checkpoints.views import EventRow

# noun of the kind -> icon; the tone comes from the participle, so red always means "went wrong"
ICONS = {
    "checkpoint": "cp",
    "approval": "wait",
    "decision": "wait",
    "effect": "bolt",
    "compensation": "undo",
    "rollback": "undo",
    "activity": "tool",
    "model": "llm",
    "conversation": "llm",
    "thought": "llm",
    "artifact": "file",
    "lease": "key",
    "state": "edit",
    "way": "fork",
    "node": "check",
    "value": "clock",
    "cursor": "clock",
    "pause": "pause",
    "code": "stuck",
    "input": "msg",
    "record": "shield",
}
KIND_ICONS = {
    "thread.started": "play",
    "thread.forked": "fork",
    "thread.succeeded": "done",
    "thread.failed": "fail",
    "thread.cancelled": "cancel",
    "thread.paused": "pause",
    "thread.resumed": "play",
    "thread.retried": "retry",
    "node.skipped": "skip",
    "thread.suspended": "wait",
    "thread.slept": "clock",
    "thread.woken": "play",
    "thread.parked": "stuck",
    "thread.handed_back": "queued",
    "thread.imported": "file",
    "thread.renamed": "edit",
    "title.suggested": "edit",
    "step.failed": "fail",
    "step.fenced": "key",
    "record.damaged": "fail",
}
BAD = ("failed", "rejected", "fenced", "refused", "damaged")


def event_icon(kind: str) -> str:
    """The icon of an event kind."""
    return KIND_ICONS.get(kind) or ICONS.get(kind.partition(".")[0], "cp")


@dataclass(frozen=True, slots=True)
class BlockingPolicy:
    """The version of a policy that refused an action, and the request that records it."""

    id: UUID
    number: int
    approval: UUID


def blocking_policy(event: EventRow) -> BlockingPolicy | None:
    """The policy that blocked what an event tells of; None for all other events."""
    if event.imported or not event.data.get("blocked"):
        return None
    named = queries_policies.version_named(event.actor.removeprefix("policy:"))
    try:
        return named and BlockingPolicy(*named, UUID(str(event.data.get("approval"))))
    except ValueError:
        return None  # an altered row: its page says so


def event_tone(kind: str) -> str:
    """The tone class of an event kind; most events are neutral."""
    noun, _, participle = kind.partition(".")
    if participle in BAD:
        return "t-fail"
    if kind in ("thread.parked", "lease.taken_over", "code.changed", "checkpoint.skipped"):
        return "t-stuck"
    if kind in ("approval.requested", "thread.suspended"):
        return "t-wait"
    if kind in ("thread.succeeded", "approval.decided"):
        return "t-done"
    return "t-run" if noun == "effect" else "t-idle"

"""Icons and tones of events: shape and colour of a kind, beside the sentence that tells it."""

from __future__ import annotations

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

"""The one list of thread statuses, event kinds and transitions; no ORM.

Everything else repeats this list and is compared with it by a test: the database constraints,
docs/lifecycle.md, the badges of the pages. TRANSITIONS reads {from: {event: to}}; the key None
is "the thread does not exist yet".
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal


class Status(StrEnum):
    """The statuses of a thread."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    SLEEPING = "sleeping"
    PAUSED = "paused"
    ATTENTION = "attention"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    ROLLING_BACK = "rolling_back"


class EventKind(StrEnum):
    """The kinds of events in a thread's log; always `noun.past_participle`."""

    # Events that move a thread from one status to another.
    THREAD_STARTED = "thread.started"
    THREAD_FORKED = "thread.forked"
    LEASE_ACQUIRED = "lease.acquired"
    LEASE_TAKEN_OVER = "lease.taken_over"
    THREAD_HANDED_BACK = "thread.handed_back"
    THREAD_SUSPENDED = "thread.suspended"
    THREAD_SLEPT = "thread.slept"
    THREAD_WOKEN = "thread.woken"
    THREAD_PAUSED = "thread.paused"
    THREAD_RESUMED = "thread.resumed"
    THREAD_RETRIED = "thread.retried"
    THREAD_SUCCEEDED = "thread.succeeded"
    THREAD_FAILED = "thread.failed"
    THREAD_CANCELLED = "thread.cancelled"
    THREAD_PARKED = "thread.parked"
    STATE_EDITED = "state.edited"
    ROLLBACK_STARTED = "rollback.started"
    ROLLBACK_RETRIED = "rollback.retried"
    ROLLBACK_FINISHED = "rollback.finished"
    ROLLBACK_RUN_ON = "rollback.run_on"
    # Events that leave the status alone.
    CHECKPOINT_COMMITTED = "checkpoint.committed"
    INPUT_RECEIVED = "input.received"
    INPUT_TAKEN = "input.taken"
    STEP_FAILED = "step.failed"
    STEP_FENCED = "step.fenced"
    NODE_FINISHED = "node.finished"
    NODE_SKIPPED = "node.skipped"
    UPDATE_REJECTED = "update.rejected"
    WAY_TAKEN = "way.taken"
    THOUGHT_RECORDED = "thought.recorded"
    VALUE_RECORDED = "value.recorded"
    CURSOR_KEPT = "cursor.kept"
    ACTIVITY_FINISHED = "activity.finished"
    ACTIVITY_FAILED = "activity.failed"
    MODEL_ANSWERED = "model.answered"
    MODEL_FAILED = "model.failed"
    MODEL_REASONED = "model.reasoned"
    MODEL_TOOL_CALLED = "model.tool_called"
    ANSWER_KEPT = "answer.kept"
    PARAMETER_REFUSED = "parameter.refused"
    CONVERSATION_LOST = "conversation.lost"
    EFFECT_STARTED = "effect.started"
    EFFECT_FINISHED = "effect.finished"
    EFFECT_FAILED = "effect.failed"
    EFFECT_SETTLED = "effect.settled"
    COMPENSATION_STARTED = "compensation.started"
    COMPENSATION_FINISHED = "compensation.finished"
    COMPENSATION_FAILED = "compensation.failed"
    ARTIFACT_STORED = "artifact.stored"
    APPROVAL_REQUESTED = "approval.requested"
    APPROVAL_DECIDED = "approval.decided"
    APPROVAL_WITHDRAWN = "approval.withdrawn"
    APPROVAL_EXPIRED = "approval.expired"
    APPROVAL_SETTLED = "approval.settled"
    APPROVAL_ESCALATED = "approval.escalated"
    APPROVAL_REMINDED = "approval.reminded"
    APPROVAL_REPLIED = "approval.replied"
    TURN_HANDED_OVER = "turn.handed_over"
    DECISION_RECORDED = "decision.recorded"
    DECISION_TAKEN_BACK = "decision.taken_back"
    DECISION_REFUSED = "decision.refused"
    OPERATION_DONE = "operation.done"
    OPERATION_FAILED = "operation.failed"
    PAUSE_REQUESTED = "pause.requested"
    THREAD_RENAMED = "thread.renamed"
    TITLE_SUGGESTED = "title.suggested"
    CODE_CHANGED = "code.changed"
    CODE_PINNED = "code.pinned"
    CODE_UNPINNED = "code.unpinned"
    CHECKPOINT_SKIPPED = "checkpoint.skipped"
    THREAD_IMPORTED = "thread.imported"
    CHILD_STARTED = "child.started"
    CHILD_JOINED = "child.joined"
    THREAD_HANDED_OFF = "thread.handed_off"


# What comes to a thread from outside; after it a graph may take its full number of steps. A
# thread is woken by a timer or deadline from outside, by its own children from inside.
FROM_OUTSIDE: Final = (
    EventKind.THREAD_STARTED,
    EventKind.THREAD_FORKED,
    EventKind.INPUT_RECEIVED,
    EventKind.DECISION_RECORDED,
    EventKind.APPROVAL_DECIDED,
    EventKind.APPROVAL_SETTLED,
    EventKind.APPROVAL_EXPIRED,
    EventKind.EFFECT_SETTLED,
    EventKind.THREAD_RESUMED,
    EventKind.THREAD_RETRIED,
    EventKind.STATE_EDITED,
    EventKind.NODE_SKIPPED,
    EventKind.ROLLBACK_FINISHED,
    EventKind.ROLLBACK_RUN_ON,
)
WOKEN_FROM_OUTSIDE: Final = ("timer", "deadline")


class WorkspaceEventKind(StrEnum):
    """The kinds of events in a workspace's own log; the same form."""

    WORKSPACE_CREATED = "workspace.created"
    WORKSPACE_RENAMED = "workspace.renamed"
    MEMBER_ADDED = "member.added"
    MEMBER_REMOVED = "member.removed"
    ROLE_GRANTED = "role.granted"
    ROLE_WITHDRAWN = "role.withdrawn"
    ROLE_REFUSED = "role.refused"
    USER_CREATED = "user.created"
    USER_CHANGED = "user.changed"
    USER_DISABLED = "user.disabled"
    ACCESS_ASKED = "access.asked"
    ACCESS_CONFIRMED = "access.confirmed"
    ACCESS_REFUSED = "access.refused"
    ACCESS_EXPIRED = "access.expired"
    ACCESS_CHANGED = "access.changed"
    LOGIN_BEGUN = "login.begun"
    LOGIN_FAILED = "login.failed"
    LOGIN_ENDED = "login.ended"
    TOKEN_CREATED = "token.created"  # noqa: S105
    TOKEN_REVOKED = "token.revoked"  # noqa: S105
    IDENTITY_LINKED = "identity.linked"
    IDENTITY_UNLINKED = "identity.unlinked"
    FACTOR_ADDED = "factor.added"
    FACTOR_REMOVED = "factor.removed"
    FACTOR_RECOVERED = "factor.recovered"
    FACTOR_REQUIRED = "factor.required"
    PASSKEY_ADDED = "passkey.added"
    PASSKEY_REMOVED = "passkey.removed"
    PASSKEY_REFUSED = "passkey.refused"
    CAPSULE_EXPORTED = "capsule.exported"
    CHANNEL_REVEALED = "channel.revealed"
    POLICY_MADE = "policy.made"
    POLICY_CHANGED = "policy.changed"
    POLICY_SWITCHED = "policy.switched"
    CAP_CHANGED = "cap.changed"
    ENDPOINT_MADE = "endpoint.made"
    ENDPOINT_CHANGED = "endpoint.changed"
    ENDPOINT_ROTATED = "endpoint.rotated"
    ENDPOINT_SWITCHED = "endpoint.switched"
    ENDPOINT_TESTED = "endpoint.tested"
    HOOK_CREATED = "hook.created"
    HOOK_ROTATED = "hook.rotated"
    HOOK_DISABLED = "hook.disabled"
    HOOK_ENABLED = "hook.enabled"
    HOOK_MAPPED = "hook.mapped"
    HOOK_CONFIRMED = "hook.confirmed"
    HOOK_UNMAPPED = "hook.unmapped"
    HOOK_REFUSED = "hook.refused"
    MCP_SERVER_ADDED = "server.added"
    MCP_SERVER_CHANGED = "server.changed"
    MCP_SERVER_REMOVED = "server.removed"
    MCP_TOOL_LISTED = "tool.listed"
    MCP_TOOL_ACCEPTED = "tool.accepted"
    MCP_TOOL_CHANGED = "tool.changed"
    BREAKER_TRIPPED = "breaker.tripped"
    BREAKER_RELEASED = "breaker.released"
    ERASURE_REQUESTED = "erasure.requested"
    ERASURE_APPROVED = "erasure.approved"
    ERASURE_REFUSED = "erasure.refused"
    ERASURE_FINISHED = "erasure.finished"
    THREAD_ERASED = "thread.erased"
    HOLD_SET = "hold.set"
    HOLD_LIFTED = "hold.lifted"
    RETENTION_CHANGED = "retention.changed"
    SUBSCRIPTION_MADE = "subscription.made"
    SUBSCRIPTION_CHANGED = "subscription.changed"
    SUBSCRIPTION_REMOVED = "subscription.removed"
    VIEW_SAVED = "view.saved"
    VIEW_CHANGED = "view.changed"
    VIEW_REMOVED = "view.removed"
    QUIET_HOURS_SET = "hours.set"
    QUIET_HOURS_REMOVED = "hours.removed"
    DEVICE_ADDED = "device.added"
    DEVICE_REMOVED = "device.removed"
    DEPUTY_NAMED = "deputy.named"
    DEPUTY_REMOVED = "deputy.removed"
    INCIDENT_TAKEN = "incident.taken"
    INCIDENT_RELEASED = "incident.released"
    INCIDENT_SNOOZED = "incident.snoozed"
    INCIDENT_WOKEN = "incident.woken"
    INCIDENT_CLOSED = "incident.closed"
    INCIDENT_DROPPED = "incident.dropped"
    BUDGET_CHANGED = "budget.changed"
    BUDGET_REACHED = "budget.reached"
    SECRETS_ENCRYPTED = "secrets.encrypted"
    RECORD_BEGUN = "record.begun"
    EXPORT_BEGUN = "export.begun"
    RECORD_EXPORTED = "record.exported"
    RECORD_DAMAGED = "record.damaged"
    RECORD_RESTORED = "record.restored"


S, K = Status, EventKind

LIVE: Final = frozenset(
    {S.QUEUED, S.RUNNING, S.WAITING, S.SLEEPING, S.PAUSED, S.ATTENTION, S.ROLLING_BACK}
)
FINISHED: Final = frozenset({S.SUCCEEDED, S.FAILED, S.CANCELLED})
# A person may write the state only while no worker can be working on it.
EDITABLE: Final = frozenset({S.PAUSED, S.WAITING, S.SLEEPING, S.ATTENTION, S.FAILED})
# New input has to find a step that can still see it.
TAKES_INPUT: Final = frozenset(Status) - {S.SUCCEEDED, S.CANCELLED}
# A node to stop before may still come, if only after a retry.
STOPS_AHEAD: Final = TAKES_INPUT
# A person ends it; one that is rolling back is ended by the worker that has undone its effects.
CANCELLABLE: Final = frozenset(Status) - {S.SUCCEEDED, S.CANCELLED, S.ROLLING_BACK}

# What state reads and exports call a status, for monitors that know few words. One that watches for
# "failed" must see `attention` too: it does not continue by itself. A thread at its end is neither
# running nor paused nor failed, and has a word of its own.
PLAIN: Final[dict[Status, Literal["running", "paused", "failed", "succeeded"]]] = {
    S.QUEUED: "running",
    S.RUNNING: "running",
    S.ROLLING_BACK: "running",
    S.WAITING: "paused",
    S.SLEEPING: "paused",
    S.PAUSED: "paused",
    S.ATTENTION: "failed",
    S.FAILED: "failed",
    S.CANCELLED: "failed",
    S.SUCCEEDED: "succeeded",
}

_CONTROL: Final = {
    K.THREAD_CANCELLED: S.CANCELLED,
    K.ROLLBACK_STARTED: S.ROLLING_BACK,
}

TRANSITIONS: Final[dict[Status | None, dict[EventKind, Status]]] = {
    None: {K.THREAD_STARTED: S.QUEUED, K.THREAD_FORKED: S.QUEUED},
    S.QUEUED: {
        K.LEASE_ACQUIRED: S.RUNNING,
        K.THREAD_PAUSED: S.PAUSED,
        K.THREAD_PARKED: S.ATTENTION,
        **_CONTROL,
    },
    S.RUNNING: {
        K.LEASE_TAKEN_OVER: S.RUNNING,
        K.THREAD_HANDED_BACK: S.QUEUED,
        K.THREAD_SUSPENDED: S.WAITING,
        K.THREAD_SLEPT: S.SLEEPING,
        K.THREAD_PAUSED: S.PAUSED,
        K.THREAD_SUCCEEDED: S.SUCCEEDED,
        K.THREAD_FAILED: S.FAILED,
        K.THREAD_PARKED: S.ATTENTION,
        **_CONTROL,
    },
    S.WAITING: {
        K.THREAD_WOKEN: S.QUEUED,
        K.THREAD_PAUSED: S.PAUSED,
        K.STATE_EDITED: S.PAUSED,
        **_CONTROL,
    },
    S.SLEEPING: {
        K.THREAD_WOKEN: S.QUEUED,
        K.THREAD_PAUSED: S.PAUSED,
        K.STATE_EDITED: S.PAUSED,
        K.NODE_SKIPPED: S.QUEUED,
        **_CONTROL,
    },
    S.PAUSED: {
        K.THREAD_RESUMED: S.QUEUED,
        K.STATE_EDITED: S.PAUSED,
        K.NODE_SKIPPED: S.PAUSED,
        **_CONTROL,
    },
    S.ATTENTION: {
        K.THREAD_RETRIED: S.QUEUED,
        K.ROLLBACK_RETRIED: S.ROLLING_BACK,
        K.STATE_EDITED: S.ATTENTION,
        K.NODE_SKIPPED: S.QUEUED,
        **_CONTROL,
    },
    S.SUCCEEDED: {K.ROLLBACK_STARTED: S.ROLLING_BACK},
    S.FAILED: {
        K.THREAD_RETRIED: S.QUEUED,
        K.STATE_EDITED: S.FAILED,
        K.NODE_SKIPPED: S.QUEUED,
        **_CONTROL,
    },
    S.CANCELLED: {K.ROLLBACK_STARTED: S.ROLLING_BACK},
    S.ROLLING_BACK: {
        K.LEASE_ACQUIRED: S.ROLLING_BACK,
        K.LEASE_TAKEN_OVER: S.ROLLING_BACK,
        K.ROLLBACK_FINISHED: S.PAUSED,
        K.ROLLBACK_RUN_ON: S.QUEUED,
        K.THREAD_FAILED: S.FAILED,
        K.THREAD_CANCELLED: S.CANCELLED,
        K.THREAD_PARKED: S.ATTENTION,
    },
}

ROLES: Final = ("viewer", "operator", "reviewer", "auditor", "admin")
CHECKPOINT_SOURCES: Final = ("input", "step", "edit", "fork", "rollback", "upgrade", "import")
ACTIVITY_STATES: Final = ("planned", "started", "done", "failed", "unknown", "compensated")
ACTIVITY_KINDS: Final = ("activity", "effect", "model", "node", "value")


def sources(event: EventKind) -> tuple[Status, ...]:
    """The statuses in which `event` may happen to a thread, in the order of the list."""
    return tuple(s for s in Status if event in TRANSITIONS[s])


def target(event: EventKind, current: Status | None) -> Status:
    """The status after `event`; KeyError when the table does not allow it."""
    return TRANSITIONS[current][event]


def pairs() -> set[tuple[str, str]]:
    """Every allowed change (from, to) of a stored thread, for the database's own check."""
    return {
        (str(old), str(new))
        for old, moves in TRANSITIONS.items()
        if old is not None
        for new in moves.values()
        if old != new
    }

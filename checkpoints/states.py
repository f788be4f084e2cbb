"""The one list of thread statuses, event kinds and transitions; no ORM.

Everything else repeats this list and is compared with it by a test: the database constraints,
docs/lifecycle.md, docs/events.md, the badges of the pages. A kind of event is one record here (its
value, payload fields and what verification compares) and one in `dashboard.wording.events` (how it
is shown). TRANSITIONS reads {from: {event: to}}; the key None
is "the thread does not exist yet".
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, Self


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


class Proof(StrEnum):
    """Comparisons that verification makes for an event beside its chain, in words."""

    THREAD = "status and columns of the thread's row"
    CHECKPOINT = "the checkpoint's row and the hash of its state"
    BASE = "the base's log up to the event that the fork names"
    ACTIVITY = "the activity's row: arguments, result, error, usage or cursor"
    CHILD = "the rows of the children"
    FILE = "the bytes of the file"
    REQUEST = "the request's row and its decisions"
    OPERATION = "the recorded outcome of the operation"
    ROLES = "the roles of the members"
    ROWS = "the changed rows, column by column"
    ERASED = "that this content, and no other, is gone"


# The payload fields of events: JSON type and description. A name means the same in every kind.
FIELDS: Final[dict[str, tuple[str, str]]] = {
    "about": ("text", "what the person was asked: whether it happened, or what to do about it"),
    "action": ("text", "what is done: of a policy ask, allow or block"),
    "active": ("boolean", "whether it is switched on"),
    "activity": ("text", "id of the activity"),
    "after": ("text", "cursor behind which an export begins"),
    "again_in": ("number", "seconds until the next attempt"),
    "agent": ("text", "name of the agent"),
    "agent_version": ("text", "id of the agent version"),
    "answer_hash": ("text", "salted hash over a question and its answer"),
    "approval": ("text", "id of the request"),
    "approved_by": ("text", "actor who approved"),
    "archive": ("any", "whether, or under which path, a capsule is kept before the erasure"),
    "args_hash": ("text", "hash of the arguments in question"),
    "arguments": ("any", "arguments of a tool call of a model; text where they were cut"),
    "asked_by": ("text", "actor who asked"),
    "asks": ("boolean", "false where policies decide and no person is asked"),
    "at": ("text", "time of the vote"),
    "at_least": ("boolean", "true where more may be concerned, by number unknown"),
    "at_full": ("text", "what happens when all is spent"),
    "attempt": ("integer", "number of the attempt, from 2 on"),
    "band": ("integer", "percent of a budget that is spent"),
    "base": ("text", "id of the thread that a fork starts from"),
    "base_chain": ("text", "chain id of the base"),
    "base_checkpoint": ("text", "id of the checkpoint that a fork starts from"),
    "base_hash": ("text", "hash of the last event of the base"),
    "base_number": ("integer", "number of the checkpoint that a fork starts from"),
    "base_seq": ("integer", "number of the last event of the base"),
    "because": ("any", "the reason that the author's code gives"),
    "before": ("text", "node to stop before"),
    "begins": ("text", "when it begins"),
    "blocked": ("boolean", "true where a policy rejected it"),
    "branch": ("integer", "number of the branch"),
    "breaker": ("text", "id of the breaker"),
    "budget": ("any", "limits of a fork in dollars, tokens or steps; of a monthly budget its id"),
    "by": ("text", "who or what caused it"),
    "by_name": ("text", "name of the person at that time"),
    "call": ("text", "the model's number of a tool call"),
    "cap": ("boolean", "true where a spend cap was reached"),
    "capsule": ("text", "hash of the capsule's manifest"),
    "chain": ("text", "chain id of the thread"),
    "change": ("text", "id of the change of access"),
    "changed": ("any", "names of what was changed, or old and new values by name"),
    "channel": ("text", "name of the channel"),
    "checkpoint": (
        "any",
        "id of the checkpoint; of a thread's first event all that its commit records",
    ),
    "checks": ("list", "what a verification covered"),
    "children": ("any", "the children: id, chain and how they ended; of a capsule how many"),
    "columns": ("object", "names of the columns that the change was about, by table"),
    "comment": ("text", "what the reviewer wrote"),
    "condition": ("text", "condition of the policy"),
    "config": ("object", "configuration that differs from the base's"),
    "confirmed_at": ("text", "when the reviewer last confirmed who they are"),
    "content": ("text", "hash of all that a policy's version says"),
    "conversation": ("text", "the provider's id of the conversation"),
    "cost": ("text", "dollars as a decimal"),
    "count": ("integer", "counter that a passkey sent"),
    "cursor_hash": ("text", "hash of the cursor"),
    "days": ("integer", "days that something is kept"),
    "decide_by": ("text", "until when the request can be decided"),
    "decided_at": ("text", "when the request ended"),
    "decision": ("text", "id of the decision"),
    "decision_hash": ("text", "hash of the decision's content"),
    "definition": ("text", "hash of a tool's definition"),
    "deputy": ("text", "actor who may act for another one"),
    "deputy_name": ("text", "name of the deputy"),
    "device": ("text", "a device, by its id or its browser's name"),
    "durability": ("text", "what is kept of the thread, where that is not all of it"),
    "effective_at": ("text", "when the decision takes effect"),
    "effects": ("list", "effects that had started"),
    "endpoint": ("text", "id of the endpoint"),
    "ends": ("text", "when it ends"),
    "erasure": ("text", "id of the erasure"),
    "error": ("text", "what went wrong"),
    "escalated_at": ("text", "when others were called in"),
    "events": ("any", "how many events; of an endpoint the kinds that it takes"),
    "exchanged": ("object", "the call for whose output a fork has another one"),
    "expires_at": ("text", "when it expires"),
    "export": ("text", "id of the export"),
    "facts": ("object", "what the agent adds to a thought"),
    "fence": ("integer", "number of the lease"),
    "filters": ("object", "what the search asked for"),
    "fingerprint": ("text", "fingerprint of the agent's code"),
    "first": ("integer", "number of the first checkpoint"),
    "for": ("text", "person for whom a deputy decided"),
    "form": ("text", "form of the export"),
    "former": ("any", "what it was before"),
    "from": ("any", "what it was before: a node, number, name, list or agent version"),
    "gatepost": ("text", "version of Gatepost"),
    "gives": ("list", "roles and rights that are given"),
    "hand_off": ("boolean", "true where an agent handed the thread over"),
    "hash": ("text", "hash of the last event"),
    "held": ("boolean", "true while the decision can be undone"),
    "hold": ("text", "id of the legal hold"),
    "hook": ("text", "id of the hook"),
    "id": ("text", "id of what it is about"),
    "idempotency_key": ("text", "key that the tool receives"),
    "identity": ("text", "the word of a hook for a person"),
    "if_gone": ("text", "what the agent chose for a lost conversation"),
    "incident": ("text", "id of the incident"),
    "incidents": ("list", "ids of the incidents"),
    "index": ("integer", "place in a fan-out, where it is not the first"),
    "input": ("integer", "number of the message"),
    "input_hash": ("text", "hash of the arguments"),
    "inputs": ("list", "numbers of the messages"),
    "keep": ("number", "seconds for which the former secret still counts"),
    "key": ("text", "key of an activity in its node; of secrets the id of the encryption key"),
    "kinds": ("list", "kinds of incidents"),
    "known": ("integer", "counter of the passkey that was on record"),
    "label": ("text", "label of the threads"),
    "last": ("integer", "number of the last checkpoint"),
    "last_hash": ("text", "hash of the thread's last event"),
    "last_seq": ("integer", "number of the thread's last event"),
    "left": ("integer", "recovery codes that are left"),
    "limit": ("integer", "most rows of the export"),
    "login": ("text", "id of the sign-in"),
    "logs": ("integer", "how many logs"),
    "lost": ("boolean", "true where the worker ended the slot of the step"),
    "manifest": ("text", "hash of the export's manifest"),
    "max_cost": ("text", "limit in dollars as a decimal"),
    "max_tokens": ("integer", "limit in tokens"),
    "media_type": ("text", "media type of the file"),
    "memories": ("integer", "how many memories"),
    "memory": ("text", "id of the memory"),
    "message": ("any", "the message"),
    "messages": ("integer", "how many recorded messages were sent anew"),
    "method": ("text", "how the person signed in"),
    "missing": ("integer", "how many votes are missing"),
    "mode": ("list", "former and new mode of a tool"),
    "month": ("text", "year and month"),
    "name": ("text", "name of what it is about"),
    "next": ("any", "nodes that come next; of an export the cursor of the next part"),
    "node": ("text", "name of the node"),
    "nodes": ("list", "nodes that worked in the step"),
    "note": ("text", "why a record begins"),
    "number": ("integer", "number of the checkpoint, or of the policy's version"),
    "of": ("text", "what kind of record or secret it is"),
    "operation": ("text", "the operation"),
    "ordinal": ("integer", "which thought of the node it is"),
    "outcome": ("text", "the outcome of the request"),
    "overlap": ("number", "seconds for which the former secret signs too"),
    "owner": ("text", "actor who holds the lease, or whom a view belongs to"),
    "parameter": ("text", "parameter of a request to a model"),
    "passkey": ("text", "id of the passkey"),
    "path": ("text", "JSON path"),
    "pause_at": ("text", "node to stop before; empty once the thread has stopped"),
    "per": ("text", "period or unit of a cap"),
    "person": ("text", "actor whom it is about"),
    "person_name": ("text", "name of that person"),
    "policy": ("text", "id of the policy"),
    "position": ("list", "former and new position"),
    "proposal_hash": ("text", "hash of the proposal"),
    "provider": ("text", "name of the identity provider"),
    "python": ("text", "version of Python"),
    "question": ("text", "id of the question to the record"),
    "queue": ("text", "queue in which the thread waits for workers"),
    "raw": ("text", "beginning and end of an answer as it came"),
    "reason": ("text", "why"),
    "received": ("integer", "number of the event with which the signal came"),
    "released": ("integer", "how many threads were released"),
    "remains": ("text", "hash of what remains of the thread"),
    "reminder": ("integer", "which reminder it is"),
    "reminders": ("integer", "how many reminders there are"),
    "requested_by": ("text", "actor who requested"),
    "requests": ("integer", "how many requests"),
    "rest": ("boolean", "true where all threads are released"),
    "result": ("any", "what the undo returned"),
    "retry_in": ("number", "seconds until the next attempt"),
    "risk": ("text", "risk of the proposal"),
    "role": ("text", "the role"),
    "row": ("object", "columns of the thread's row that are not as usual"),
    "rows": (
        "object",
        "columns of the changed rows after the change, by table and id; null where the row is gone",
    ),
    "rule": ("text", "id of the retention rule"),
    "run_on": ("boolean", "whether the thread continues after the rollback"),
    "said": ("text", "result of the operation in words"),
    "saved": ("object", "recorded work that was not done again"),
    "scope": ("text", "what a limit applies to, or who reads a memory"),
    "scopes": ("list", "what a token may do"),
    "seal": ("text", "hash over the row that the event names"),
    "seconds": ("number", "how long"),
    "seen": ("text", "hash of the proposal that the reviewer saw"),
    "selection": ("object", "which threads"),
    "sent_as": ("text", "other name under which a parameter was sent"),
    "sent_by": ("object", "thread, agent and activity that sent the message"),
    "sentence": ("text", "the tool's description of the call"),
    "seq": ("integer", "number of the last event; of damage that of the first broken one"),
    "server": ("text", "id of the MCP server"),
    "sha256": ("text", "hash of the file"),
    "shared": ("boolean", "whether the view is shared"),
    "signal": ("text", "name of the signal"),
    "since": ("text", "since when"),
    "size": ("integer", "bytes"),
    "sources": ("list", "thread and number of each event that an answer rests on"),
    "standing_hash": ("text", "hash of the arguments that now stand"),
    "started_in": ("object", "thread and chain of the parent"),
    "state": ("text", "state that the activity, or the tool of an upstream, has now"),
    "status": ("text", "status of the thread where it came from"),
    "stay": ("boolean", "true where one effect is undone and nothing else"),
    "stays": ("list", "effects that happened and stay"),
    "step": ("integer", "number of the step"),
    "steps": ("integer", "how many steps a turn of an ephemeral thread took"),
    "subscription": ("text", "id of the subscription"),
    "surface": ("text", "page of the saved view"),
    "tables": ("list", "tables that are on record from here"),
    "target": ("text", "id of the checkpoint to return to"),
    "team": ("text", "name of the team"),
    "text": ("text", "the text"),
    "texts": ("integer", "how many secrets"),
    "then": ("text", "how the thread ends after the undo"),
    "thread": ("text", "id of the thread"),
    "threads": ("integer", "how many threads"),
    "title": ("text", "title of the thread or request"),
    "to": ("any", "what it is now, or who or what comes next"),
    "token": ("text", "prefix of the token"),
    "tokens": ("integer", "how many tokens"),
    "tool": ("text", "name of the tool"),
    "traceparent": ("text", "trace context of the caller"),
    "transport": ("text", "how the MCP server is reached"),
    "trouble": ("text", "kind of the incident"),
    "undo": ("list", "ids of the effects to undo"),
    "unknown": ("list", "effects that had started, with an unknown outcome"),
    "until": ("text", "until when"),
    "usage": ("object", "model, tokens, cost and time"),
    "user": ("integer", "number of the user"),
    "utterance": ("object", "number of the utterance that was said, and its recording"),
    "value": ("any", "value of the parameter or signal"),
    "verdict": ("text", "the verdict"),
    "versions": ("object", "agent versions and their hashes"),
    "view": ("text", "id of the view"),
    "void": ("integer", "how many votes no longer count"),
    "waiting_on": ("text", "hash of what the thread waits for"),
    "waits_for": ("object", "how many requests, children and signals the thread waits for"),
    "was": ("object", "the same rows before the change"),
    "what": ("text", "what is wrong"),
    "what_next": ("text", "what follows a rejection"),
    "why": ("text", "why"),
    "workspace": ("text", "id of the workspace"),
    "zone": ("text", "time zone"),
}
# What RowChange adds to the payload where the event records rows.
ROW_FIELDS: Final = ("rows", "columns", "was")
_ACTIVITY: Final = "activity branch step node index key tool attempt sentence seal"
_BASE: Final = "base base_chain base_seq base_hash base_checkpoint base_number"
_DECISION: Final = (
    "approval title sentence decision decision_hash verdict comment by_name "
    "proposal_hash for confirmed_at standing_hash seen void"
)
_ACCESS: Final = "change user name gives asked_by"
_SUBSCRIPTION: Final = "subscription person team kinds agent label"
_VIEW: Final = "view owner surface shared name"


class _Kind(StrEnum):
    """A kind of event with its record: payload fields, and what verification compares."""

    fields: tuple[str, ...]
    proofs: tuple[Proof, ...]

    def __new__(cls, value: str, fields: str = "", *proofs: Proof) -> Self:
        """Take the record beside the value: names of fields, and comparisons."""
        kind = str.__new__(cls, value)
        kind._value_ = value
        rows = ROW_FIELDS if Proof.ROWS in proofs else ()
        kind.fields, kind.proofs = (*fields.split(), *rows), proofs
        return kind


class EventKind(_Kind):
    """The kinds of events in a thread's log; always `noun.past_participle`."""

    # Events that move a thread from one status to another.
    THREAD_STARTED = (
        "thread.started",
        "agent agent_version title row checkpoint durability traceparent started_in waiting_on "
        "usage",
        Proof.THREAD,
        Proof.CHECKPOINT,
    )
    THREAD_FORKED = (
        "thread.forked",
        f"{_BASE} agent agent_version title row checkpoint changed reason config budget "
        "exchanged hand_off waiting_on",
        Proof.THREAD,
        Proof.CHECKPOINT,
        Proof.BASE,
    )
    LEASE_ACQUIRED = "lease.acquired", "owner python gatepost"
    LEASE_TAKEN_OVER = "lease.taken_over", "owner python gatepost saved"
    THREAD_CONTINUED = "thread.continued", "owner python gatepost"
    THREAD_HANDED_BACK = "thread.handed_back", "reason breaker usage steps"
    THREAD_SUSPENDED = "thread.suspended", "reason waits_for waiting_on", Proof.THREAD
    THREAD_SLEPT = "thread.slept", "reason seconds waiting_on", Proof.THREAD
    THREAD_WOKEN = "thread.woken", "by", Proof.THREAD
    THREAD_PAUSED = (
        "thread.paused",
        "reason by cap pause_at waiting_on budget usage steps",
        Proof.THREAD,
    )
    THREAD_RESUMED = "thread.resumed", "budget", Proof.THREAD
    THREAD_RETRIED = "thread.retried", "saved", Proof.THREAD
    THREAD_SUCCEEDED = "thread.succeeded", "reason pause_at by usage steps", Proof.THREAD
    THREAD_FAILED = "thread.failed", "reason node path by usage steps", Proof.THREAD
    THREAD_CANCELLED = "thread.cancelled", "reason unknown saved", Proof.THREAD
    THREAD_PARKED = "thread.parked", "reason waiting_on", Proof.THREAD
    STATE_EDITED = "state.edited", "changed reason", Proof.THREAD
    ROLLBACK_STARTED = (
        "rollback.started",
        "target number step undo reason run_on by then stays stay unknown",
        Proof.THREAD,
    )
    ROLLBACK_RETRIED = "rollback.retried", "", Proof.THREAD
    ROLLBACK_FINISHED = "rollback.finished", "reason", Proof.THREAD
    ROLLBACK_RUN_ON = "rollback.run_on", "reason", Proof.THREAD
    # Events that leave the status alone.
    CHECKPOINT_COMMITTED = (
        "checkpoint.committed",
        "checkpoint number step nodes next seal",
        Proof.CHECKPOINT,
    )
    INPUT_RECEIVED = "input.received", "message sent_by utterance"
    INPUT_TAKEN = "input.taken", "inputs channel"
    SIGNAL_RECEIVED = "signal.received", "signal value utterance"
    SIGNAL_TAKEN = "signal.taken", "signal received activity node"
    SIGNAL_REFUSED = "signal.refused", "signal received node path why"
    STEP_FAILED = "step.failed", "node step error lost fence"
    STEP_FENCED = "step.fenced", "owner fence step effects"
    STEPS_LOST = "steps.lost", "first last at_least why"
    NODE_FINISHED = "node.finished", f"{_ACTIVITY}", Proof.ACTIVITY
    NODE_SKIPPED = "node.skipped", f"{_ACTIVITY} reason", Proof.ACTIVITY, Proof.THREAD
    UPDATE_REJECTED = (
        "update.rejected",
        "node input path why message thread agent activity utterance",
    )
    WAY_TAKEN = "way.taken", "from to because"
    THOUGHT_RECORDED = "thought.recorded", "node ordinal branch step text facts"
    VALUE_RECORDED = "value.recorded", f"{_ACTIVITY} usage", Proof.ACTIVITY
    CURSOR_KEPT = "cursor.kept", f"{_ACTIVITY} input_hash cursor_hash size", Proof.ACTIVITY
    ACTIVITY_FINISHED = "activity.finished", f"{_ACTIVITY} usage", Proof.ACTIVITY
    ACTIVITY_FAILED = "activity.failed", f"{_ACTIVITY} error retry_in usage", Proof.ACTIVITY
    MODEL_ANSWERED = "model.answered", f"{_ACTIVITY} usage", Proof.ACTIVITY
    MODEL_FAILED = "model.failed", f"{_ACTIVITY} error retry_in usage", Proof.ACTIVITY
    MODEL_REASONED = "model.reasoned", "node branch step key text"
    MODEL_TOOL_CALLED = "model.tool_called", "node branch step key call tool arguments error"
    ANSWER_KEPT = "answer.kept", "node branch step key reason raw size text"
    PARAMETER_REFUSED = "parameter.refused", "node branch step key parameter value reason sent_as"
    CONVERSATION_LOST = (
        "conversation.lost",
        "node branch step key conversation if_gone messages reason",
    )
    EFFECT_STARTED = "effect.started", f"{_ACTIVITY} idempotency_key approval", Proof.ACTIVITY
    EFFECT_FINISHED = "effect.finished", f"{_ACTIVITY} state usage", Proof.ACTIVITY
    EFFECT_FAILED = (
        "effect.failed",
        f"{_ACTIVITY} state error retry_in usage idempotency_key",
        Proof.ACTIVITY,
    )
    EFFECT_SETTLED = (
        "effect.settled",
        f"{_ACTIVITY} verdict about reason args_hash state",
        Proof.ACTIVITY,
    )
    COMPENSATION_STARTED = "compensation.started", "activity tool"
    COMPENSATION_FINISHED = "compensation.finished", "activity tool result", Proof.ACTIVITY
    COMPENSATION_FAILED = "compensation.failed", "activity tool error again_in"
    ARTIFACT_STORED = "artifact.stored", "node name sha256 size media_type", Proof.FILE
    APPROVAL_REQUESTED = (
        "approval.requested",
        "approval title sentence tool node risk proposal_hash seal asks",
        Proof.REQUEST,
    )
    APPROVAL_DECIDED = (
        "approval.decided",
        f"{_DECISION} effective_at decided_at outcome what_next held blocked",
        Proof.REQUEST,
    )
    APPROVAL_WITHDRAWN = "approval.withdrawn", "approval title reason decided_at", Proof.REQUEST
    APPROVAL_EXPIRED = "approval.expired", "approval title decided_at", Proof.REQUEST
    APPROVAL_SETTLED = "approval.settled", "approval title sentence outcome by_name", Proof.REQUEST
    APPROVAL_ESCALATED = (
        "approval.escalated",
        "approval title sentence to escalated_at decide_by",
        Proof.REQUEST,
    )
    APPROVAL_REMINDED = (
        "approval.reminded",
        "approval title sentence reminder reminders",
        Proof.REQUEST,
    )
    APPROVAL_REPLIED = "approval.replied", "approval decision text"
    TURN_HANDED_OVER = (
        "turn.handed_over",
        "person person_name deputy deputy_name reason approval title sentence",
    )
    DECISION_RECORDED = "decision.recorded", f"{_DECISION} at missing", Proof.REQUEST
    DECISION_TAKEN_BACK = (
        "decision.taken_back",
        "approval title sentence decision decision_hash verdict by_name proposal_hash "
        "at standing_hash",
        Proof.REQUEST,
    )
    DECISION_REFUSED = "decision.refused", "approval title sentence verdict reason by_name"
    OPERATION_DONE = "operation.done", "approval operation title said", Proof.OPERATION
    OPERATION_FAILED = "operation.failed", "approval operation title said", Proof.OPERATION
    PAUSE_REQUESTED = "pause.requested", "before reason", Proof.THREAD
    THREAD_RENAMED = "thread.renamed", "title", Proof.THREAD
    THREAD_MOVED_UP = "thread.moved_up", "reason"
    TITLE_SUGGESTED = "title.suggested", "node title", Proof.THREAD
    CODE_CHANGED = "code.changed", "from to fingerprint queue by", Proof.THREAD
    CODE_PINNED = "code.pinned", "", Proof.THREAD
    CODE_UNPINNED = "code.unpinned", "", Proof.THREAD
    CHECKPOINT_SKIPPED = "checkpoint.skipped", "from to why"
    THREAD_IMPORTED = (
        "thread.imported",
        "workspace seq hash chain status title capsule by_name row thread checkpoint number",
        Proof.THREAD,
    )
    CHILD_STARTED = "child.started", "activity agent agent_version children", Proof.CHILD
    CHILD_JOINED = "child.joined", "activity children", Proof.CHILD
    THREAD_HANDED_OFF = (
        "thread.handed_off",
        "thread chain agent agent_version checkpoint",
        Proof.CHILD,
    )


# What comes to a thread from outside; after it a graph may take its full number of steps. A
# thread is woken by a timer or deadline from outside, by its own children from inside.
FROM_OUTSIDE: Final = (
    EventKind.THREAD_STARTED,
    EventKind.THREAD_FORKED,
    EventKind.INPUT_RECEIVED,
    EventKind.SIGNAL_RECEIVED,
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


class WorkspaceEventKind(_Kind):
    """The kinds of events in a workspace's own log; the same form."""

    WORKSPACE_CREATED = "workspace.created", "name tables", Proof.ROWS
    WORKSPACE_RENAMED = "workspace.renamed", "from to", Proof.ROWS
    MEMBER_ADDED = "member.added", "user name"
    MEMBER_REMOVED = "member.removed", "user name"
    ROLE_GRANTED = "role.granted", "user name role", Proof.ROLES, Proof.ROWS
    ROLE_WITHDRAWN = "role.withdrawn", "user name role", Proof.ROLES
    ROLE_REFUSED = "role.refused", "user name role"
    USER_CREATED = "user.created", "user name changed", Proof.ROWS
    USER_CHANGED = "user.changed", "user name changed", Proof.ROWS
    USER_DISABLED = "user.disabled", "user name changed", Proof.ROWS
    ACCESS_ASKED = "access.asked", f"{_ACCESS}", Proof.ROWS
    ACCESS_CONFIRMED = "access.confirmed", f"{_ACCESS}", Proof.ROWS
    ACCESS_REFUSED = "access.refused", f"{_ACCESS}", Proof.ROWS
    ACCESS_EXPIRED = "access.expired", f"{_ACCESS}", Proof.ROWS
    ACCESS_CHANGED = "access.changed", "user name gives"
    LOGIN_BEGUN = "login.begun", "user name login method device"
    LOGIN_FAILED = "login.failed", "user name method"
    LOGIN_ENDED = "login.ended", "user name login why"
    TOKEN_CREATED = "token.created", "token name user scopes expires_at", Proof.ROWS
    TOKEN_REVOKED = "token.revoked", "token name user scopes expires_at", Proof.ROWS
    IDENTITY_LINKED = "identity.linked", "user name provider", Proof.ROWS
    IDENTITY_UNLINKED = "identity.unlinked", "user name provider", Proof.ROWS
    FACTOR_ADDED = "factor.added", "user name left", Proof.ROWS
    FACTOR_REMOVED = "factor.removed", "user name left", Proof.ROWS
    FACTOR_RECOVERED = "factor.recovered", "user name left", Proof.ROWS
    FACTOR_REQUIRED = "factor.required", "from to", Proof.ROWS
    PASSKEY_ADDED = "passkey.added", "user name passkey", Proof.ROWS
    PASSKEY_REMOVED = "passkey.removed", "user name passkey", Proof.ROWS
    PASSKEY_REFUSED = "passkey.refused", "user name passkey count known", Proof.ROWS
    CAPSULE_EXPORTED = (
        "capsule.exported",
        "thread number children memories seq hash archive capsule",
    )
    CHANNEL_REVEALED = "channel.revealed", "thread channel checkpoint number"
    POLICY_MADE = "policy.made", "policy name number action condition content", Proof.ROWS
    POLICY_CHANGED = (
        "policy.changed",
        "policy name number action condition content position",
        Proof.ROWS,
    )
    POLICY_SWITCHED = "policy.switched", "policy name active", Proof.ROWS
    CAP_CHANGED = "cap.changed", "scope agent per max_cost active", Proof.ROWS
    ENDPOINT_MADE = "endpoint.made", "endpoint name to events", Proof.ROWS
    ENDPOINT_CHANGED = "endpoint.changed", "endpoint name to changed", Proof.ROWS
    ENDPOINT_ROTATED = "endpoint.rotated", "endpoint name to overlap", Proof.ROWS
    ENDPOINT_SWITCHED = "endpoint.switched", "endpoint name to active", Proof.ROWS
    ENDPOINT_TESTED = "endpoint.tested", "endpoint name to"
    HOOK_CREATED = "hook.created", "hook name", Proof.ROWS
    HOOK_ROTATED = "hook.rotated", "hook name keep", Proof.ROWS
    HOOK_DISABLED = "hook.disabled", "hook name", Proof.ROWS
    HOOK_ENABLED = "hook.enabled", "hook name", Proof.ROWS
    HOOK_MAPPED = "hook.mapped", "hook name identity user former", Proof.ROWS
    HOOK_CONFIRMED = "hook.confirmed", "hook name identity user", Proof.ROWS
    HOOK_UNMAPPED = "hook.unmapped", "hook name identity user", Proof.ROWS
    HOOK_REFUSED = "hook.refused", "hook name why"
    MCP_SERVER_ADDED = "server.added", "server name transport", Proof.ROWS
    MCP_SERVER_CHANGED = "server.changed", "server name changed", Proof.ROWS
    MCP_SERVER_REMOVED = "server.removed", "server name", Proof.ROWS
    MCP_TOOL_LISTED = "tool.listed", "server name tool state changed", Proof.ROWS
    MCP_TOOL_ACCEPTED = "tool.accepted", "server name tool definition", Proof.ROWS
    MCP_TOOL_CHANGED = "tool.changed", "server name tool mode", Proof.ROWS
    BREAKER_TRIPPED = "breaker.tripped", "breaker selection reason", Proof.ROWS
    BREAKER_RELEASED = "breaker.released", "breaker selection released rest reason", Proof.ROWS
    MEMORY_REMEMBERED = "memory.remembered", "memory scope thread", Proof.ROWS
    MEMORY_CORRECTED = "memory.corrected", "memory reason", Proof.ROWS
    MEMORY_FORGOTTEN = "memory.forgotten", "memory memories thread reason", Proof.ROWS
    ERASURE_REQUESTED = "erasure.requested", "erasure thread reason", Proof.ROWS
    ERASURE_APPROVED = "erasure.approved", "erasure thread reason", Proof.ROWS
    ERASURE_REFUSED = "erasure.refused", "erasure thread reason", Proof.ROWS
    ERASURE_FINISHED = "erasure.finished", "erasure thread threads", Proof.ROWS
    THREAD_ERASED = (
        "thread.erased",
        "thread erasure requested_by approved_by reason last_seq last_hash remains rule",
        Proof.ROWS,
        Proof.ERASED,
    )
    HOLD_SET = "hold.set", "hold thread reason", Proof.ROWS
    HOLD_LIFTED = "hold.lifted", "hold thread reason", Proof.ROWS
    RETENTION_CHANGED = "retention.changed", "rule agent days archive active", Proof.ROWS
    SUBSCRIPTION_MADE = "subscription.made", f"{_SUBSCRIPTION}", Proof.ROWS
    SUBSCRIPTION_CHANGED = "subscription.changed", f"{_SUBSCRIPTION}", Proof.ROWS
    SUBSCRIPTION_REMOVED = "subscription.removed", f"{_SUBSCRIPTION}", Proof.ROWS
    VIEW_SAVED = "view.saved", f"{_VIEW}", Proof.ROWS
    VIEW_CHANGED = "view.changed", f"{_VIEW}", Proof.ROWS
    VIEW_REMOVED = "view.removed", f"{_VIEW}", Proof.ROWS
    QUIET_HOURS_SET = "hours.set", "person begins ends zone", Proof.ROWS
    QUIET_HOURS_REMOVED = "hours.removed", "person", Proof.ROWS
    DEVICE_ADDED = "device.added", "device person name", Proof.ROWS
    DEVICE_REMOVED = "device.removed", "device person name why", Proof.ROWS
    DEPUTY_NAMED = (
        "deputy.named",
        "person person_name deputy deputy_name reason begins ends approval",
        Proof.ROWS,
    )
    DEPUTY_REMOVED = "deputy.removed", "person person_name deputy deputy_name approval", Proof.ROWS
    INCIDENT_TAKEN = "incident.taken", "incident agent trouble", Proof.ROWS
    INCIDENT_RELEASED = "incident.released", "incident agent trouble", Proof.ROWS
    INCIDENT_SNOOZED = "incident.snoozed", "incident agent trouble until", Proof.ROWS
    INCIDENT_WOKEN = "incident.woken", "incident agent trouble", Proof.ROWS
    INCIDENT_CLOSED = "incident.closed", "incident agent trouble reason", Proof.ROWS
    INCIDENT_DROPPED = "incident.dropped", "incidents days", Proof.ROWS
    BUDGET_CHANGED = "budget.changed", "scope name max_tokens max_cost at_full active", Proof.ROWS
    BUDGET_REACHED = (
        "budget.reached",
        "budget scope name month band tokens cost max_tokens max_cost breaker",
        Proof.ROWS,
    )
    SECRETS_ENCRYPTED = "secrets.encrypted", "of id texts key", Proof.ROWS
    RECORD_BEGUN = "record.begun", "tables note versions", Proof.ROWS
    EXPORT_BEGUN = "export.begun", "export filters form after limit"
    RECORD_EXPORTED = "record.exported", "export form events logs requests next manifest"
    RECORD_ASKED = "record.asked", "question thread agent since until sources answer_hash usage"
    RECORD_DAMAGED = "record.damaged", "of id events seq what checks"
    RECORD_RESTORED = "record.restored", "of id events checks"


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
    # An ephemeral thread takes its next message there.
    S.SUCCEEDED: {K.THREAD_CONTINUED: S.RUNNING, K.ROLLBACK_STARTED: S.ROLLING_BACK},
    S.FAILED: {
        K.THREAD_CONTINUED: S.RUNNING,
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


def kinds_of(proof: Proof) -> frozenset[EventKind]:
    """The kinds of a thread's log for which verification makes this comparison."""
    return frozenset(kind for kind in EventKind if proof in kind.proofs)


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

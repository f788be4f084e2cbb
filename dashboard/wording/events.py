"""How each kind of event is shown: its sentence, icon and tone, and which lists have it.

One record a kind. A test compares the table with the kinds of `checkpoints.states`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from checkpoints.log.remains import is_blank
from checkpoints.states import EventKind as K
from checkpoints.states import WorkspaceEventKind as W
from dashboard.fields.thread_filters import selection_words

from .event_phrases import (
    access,
    budget_limits,
    call_name,
    checkpoint,
    children_joined,
    children_started,
    decided,
    deputy,
    effect_settled,
    endpoint,
    exchanged_call,
    hook,
    identity,
    in_node,
    incident,
    incidents,
    lost_steps,
    mcp_server,
    mcp_tool,
    message_text,
    messages_taken,
    next_attempt,
    paused,
    proposal,
    quoted,
    reason,
    record,
    replied,
    rolled_back,
    settled,
    subscription,
    suspended,
    token,
    transition,
    unknown_effects,
    view,
    vote_recorded,
    withdrawn,
)
from .model_settings import answer_kept, conversation_lost, parameter_refused
from .operations import budget_limit, budget_words
from .sentences import person
from .text import cut, span
from .usages import usage_text

if TYPE_CHECKING:
    from checkpoints.views import EventRow

NEUTRAL, RUN, WAIT, DONE, STUCK, FAIL = "t-idle", "t-run", "t-wait", "t-done", "t-stuck", "t-fail"
# Of the board's feed: how the engine works is left out, the newest decision and failure are kept.
TECHNICAL, DECISION, FAILURE = "technical", "decision", "failure"
# What an event is about when two threads are compared; kinds that are about nothing (leases,
# pauses, retries, cursors) only say how the work was done.
CALL, THOUGHT, REQUEST, STEP_FAILURE, CHECKPOINT = (
    "call",
    "thought",
    "request",
    "failure",
    "checkpoint",
)
CHANGE, END, OTHER = "change", "end", "other"
_MEMORY_OF: Final = {
    "thread": "a thread",
    "agent": "an agent",
    "person": "a person",
    "workspace": "the workspace",
}


@dataclass(frozen=True, slots=True)
class KindDisplay:
    """The display of one kind of event.

    `sentence` describes an event by its data and who did it, without a full stop. `icon` is one of
    the sprite and `tone` the class of its colour; `feed` and `compared` say what the board's feed
    and a comparison of threads take it for.
    """

    sentence: Callable[[Mapping[str, Any], str], str]
    icon: str = "cp"
    tone: str = NEUTRAL
    feed: str = ""
    compared: str = ""

    @property
    def is_error(self) -> bool:
        """True if something went wrong: the thread's page lists it among the errors."""
        return self.tone == FAIL or self.feed == FAILURE


KINDS: Final[Mapping[str, KindDisplay]] = {
    # The log of a thread.
    K.THREAD_STARTED: KindDisplay(
        lambda d, who: f"{who} started {d.get('agent', 'the agent')}", "play", compared=CHANGE
    ),
    K.THREAD_FORKED: KindDisplay(
        lambda d, who: (
            f"{who} forked from checkpoint {d.get('base_number', '?')}"
            + (f", changed {', '.join(d['changed'])}" if d.get("changed") else "")
            + exchanged_call(d.get("exchanged"))
            + budget_limits(", with a budget of", d.get("budget"))
        ),
        "fork",
        compared=CHANGE,
    ),
    K.LEASE_ACQUIRED: KindDisplay(lambda d, who: f"{who} took the lease", "key", feed=TECHNICAL),
    K.LEASE_TAKEN_OVER: KindDisplay(
        lambda d, who: f"{who} took over after the lease expired", "key", STUCK, feed=TECHNICAL
    ),
    K.THREAD_CONTINUED: KindDisplay(lambda d, who: f"{who} took the next message", "play"),
    K.THREAD_HANDED_BACK: KindDisplay(
        lambda d, who: f"{who} returned the thread" + reason(d), "queued"
    ),
    K.THREAD_SUSPENDED: KindDisplay(
        lambda d, who: suspended(d.get("waits_for")) + reason(d), "wait", WAIT
    ),
    K.THREAD_SLEPT: KindDisplay(
        lambda d, who: (
            (f"Sleeping for {span(d['seconds'])}" if d.get("seconds") else "Sleeping") + reason(d)
        ),
        "clock",
    ),
    K.THREAD_WOKEN: KindDisplay(
        lambda d, who: "Resumed" + (f" ({d['by']})" if d.get("by") else ""), "play"
    ),
    K.THREAD_PAUSED: KindDisplay(paused, "pause"),
    K.THREAD_RESUMED: KindDisplay(
        lambda d, who: (
            f"{who} resumed the thread"
            + budget_limits(" and raised its budget to", d.get("budget"))
        ),
        "play",
    ),
    K.THREAD_RETRIED: KindDisplay(lambda d, who: f"{who} retried the step", "retry"),
    K.THREAD_SUCCEEDED: KindDisplay(lambda d, who: "Finished", "done", DONE, compared=END),
    K.THREAD_FAILED: KindDisplay(
        lambda d, who: "Failed" + reason(d), "fail", FAIL, feed=FAILURE, compared=END
    ),
    K.THREAD_CANCELLED: KindDisplay(
        lambda d, who: f"{who} cancelled the thread" + reason(d) + unknown_effects(d),
        "cancel",
        compared=END,
    ),
    K.THREAD_PARKED: KindDisplay(
        lambda d, who: "Needs attention" + reason(d), "stuck", STUCK, feed=FAILURE
    ),
    K.STATE_EDITED: KindDisplay(
        lambda d, who: (
            f"{who} edited {', '.join(d.get('changed') or ()) or 'the state'}" + reason(d)
        ),
        "edit",
    ),
    K.ROLLBACK_STARTED: KindDisplay(rolled_back, "undo", feed=DECISION),
    K.ROLLBACK_RETRIED: KindDisplay(
        lambda d, who: f"{who} resumed the rollback", "undo", feed=DECISION
    ),
    K.ROLLBACK_FINISHED: KindDisplay(
        lambda d, who: "Rolled back, paused at the target", "undo", feed=DECISION
    ),
    K.ROLLBACK_RUN_ON: KindDisplay(
        lambda d, who: "Rolled back, continues from the target", "undo", feed=DECISION
    ),
    K.CHECKPOINT_COMMITTED: KindDisplay(checkpoint, "cp", compared=CHECKPOINT),
    K.INPUT_RECEIVED: KindDisplay(
        lambda d, who: f"{who} sent: {message_text(d.get('message'))}", "msg"
    ),
    K.SIGNAL_RECEIVED: KindDisplay(
        lambda d, who: f"{who} sent the signal {cut(d.get('signal', ''))}", "msg"
    ),
    K.SIGNAL_TAKEN: KindDisplay(
        lambda d, who: f"Signal {cut(d.get('signal', ''))} taken{in_node(d)}", "msg"
    ),
    K.SIGNAL_REFUSED: KindDisplay(
        lambda d, who: (
            f"Signal {cut(d.get('signal', ''))} refused{in_node(d)}: {cut(d.get('why', ''))}"
        ),
        "msg",
        FAIL,
    ),
    K.INPUT_TAKEN: KindDisplay(lambda d, who: messages_taken(d.get("inputs") or ()), "msg"),
    K.STEP_FAILED: KindDisplay(
        lambda d, who: (
            (f"Step lost{in_node(d)}" if d.get("lost") else f"Step failed{in_node(d)}") + reason(d)
        ),
        "fail",
        FAIL,
        feed=FAILURE,
        compared=STEP_FAILURE,
    ),
    K.STEP_FENCED: KindDisplay(
        lambda d, who: f"A late commit by {who} was refused" + unknown_effects(d),
        "key",
        FAIL,
        feed=FAILURE,
    ),
    K.STEPS_LOST: KindDisplay(
        lambda d, who: f"{lost_steps(d)}: {cut(d.get('why', ''))}",
        "fail",
        FAIL,
        feed=FAILURE,
    ),
    K.NODE_FINISHED: KindDisplay(
        lambda d, who: f"{d.get('node', 'A node')} finished; its step continues",
        "check",
        compared=CALL,
    ),
    K.NODE_SKIPPED: KindDisplay(
        lambda d, who: f"{who} skipped {d.get('node', 'a node')}{reason(d)}", "skip", compared=OTHER
    ),
    K.UPDATE_REJECTED: KindDisplay(
        lambda d, who: (
            f"Message {d['input']} refused by the agent: {cut(d.get('why', ''))}"
            if d.get("input")
            else f"Update refused{in_node(d)}" + (reason(d) or f": {cut(d.get('why', ''))}")
        ),
        "cp",
        FAIL,
        feed=FAILURE,
        compared=THOUGHT,
    ),
    K.WAY_TAKEN: KindDisplay(
        lambda d, who: transition(d.get("from"), d.get("to"), d.get("because")),
        "fork",
        feed=TECHNICAL,
        compared=THOUGHT,
    ),
    K.THOUGHT_RECORDED: KindDisplay(
        lambda d, who: cut(d.get("text") or d.get("thought") or "A thought"),
        "llm",
        compared=THOUGHT,
    ),
    K.VALUE_RECORDED: KindDisplay(
        lambda d, who: f"Recorded {call_name(d)}{in_node(d)}",
        "clock",
        feed=TECHNICAL,
        compared=CALL,
    ),
    K.CURSOR_KEPT: KindDisplay(
        lambda d, who: f"Saved the position of {call_name(d)}{in_node(d)}", "clock", feed=TECHNICAL
    ),
    K.ACTIVITY_FINISHED: KindDisplay(
        lambda d, who: f"{call_name(d)} done{in_node(d)}{usage_text(d)}",
        "tool",
        feed=TECHNICAL,
        compared=CALL,
    ),
    K.ACTIVITY_FAILED: KindDisplay(
        lambda d, who: f"{call_name(d)} failed{in_node(d)}" + reason(d) + next_attempt(d),
        "tool",
        FAIL,
        feed=TECHNICAL,
        compared=CALL,
    ),
    K.MODEL_ANSWERED: KindDisplay(
        lambda d, who: f"{call_name(d)} done{in_node(d)}{usage_text(d)}", "llm", compared=CALL
    ),
    K.MODEL_FAILED: KindDisplay(
        lambda d, who: f"{call_name(d)} failed{in_node(d)}" + reason(d) + next_attempt(d),
        "llm",
        FAIL,
        feed=FAILURE,
        compared=CALL,
    ),
    K.MODEL_REASONED: KindDisplay(
        lambda d, who: cut(d.get("text") or "A model's reasoning"), "llm", compared=THOUGHT
    ),
    K.MODEL_TOOL_CALLED: KindDisplay(
        lambda d, who: (
            f"The model asks for {cut(d.get('tool') or 'a tool')}{in_node(d)}" + reason(d)
        ),
        "llm",
        compared=THOUGHT,
    ),
    K.ANSWER_KEPT: KindDisplay(lambda d, who: answer_kept(d), "cp"),
    K.PARAMETER_REFUSED: KindDisplay(lambda d, who: parameter_refused(d), "cp", FAIL, feed=FAILURE),
    K.CONVERSATION_LOST: KindDisplay(lambda d, who: conversation_lost(d), "llm"),
    K.EFFECT_STARTED: KindDisplay(
        lambda d, who: f"{call_name(d)} begins, attempt {d.get('attempt', 1)}", "bolt", RUN
    ),
    K.EFFECT_FINISHED: KindDisplay(
        lambda d, who: f"{call_name(d)} completed{usage_text(d)}", "bolt", RUN, compared=CALL
    ),
    K.EFFECT_FAILED: KindDisplay(
        lambda d, who: (
            f"{call_name(d)} had started; its outcome is unknown"
            if d.get("state") == "unknown"
            else f"{call_name(d)} failed" + reason(d) + next_attempt(d)
        ),
        "bolt",
        FAIL,
        feed=FAILURE,
        compared=CALL,
    ),
    K.EFFECT_SETTLED: KindDisplay(
        effect_settled,
        "bolt",
        RUN,
        compared=CALL,
    ),
    K.COMPENSATION_STARTED: KindDisplay(
        lambda d, who: f"Undoing {call_name(d)}" if d.get("tool") else "Undoing an effect", "undo"
    ),
    K.COMPENSATION_FINISHED: KindDisplay(
        lambda d, who: f"{call_name(d)} undone" if d.get("tool") else "Undone", "undo"
    ),
    K.COMPENSATION_FAILED: KindDisplay(
        lambda d, who: (
            (f"Undoing {call_name(d)} failed" if d.get("tool") else "Undoing an effect failed")
            + (f", next attempt in {d['again_in']:g} s" if d.get("again_in") else "")
            + reason(d)
        ),
        "undo",
        FAIL,
        feed=FAILURE,
    ),
    K.ARTIFACT_STORED: KindDisplay(
        lambda d, who: f"Stored {cut(d.get('name') or 'a file')}",
        "file",
        feed=TECHNICAL,
        compared=OTHER,
    ),
    K.APPROVAL_REQUESTED: KindDisplay(
        lambda d, who: (
            f"{'Policies checked' if d.get('asks') is False else 'Approval requested'}:"
            f"{proposal(d) or ' ?'}"
        ),
        "wait",
        WAIT,
        feed=DECISION,
        compared=REQUEST,
    ),
    K.APPROVAL_DECIDED: KindDisplay(decided, "wait", DONE, feed=DECISION, compared=REQUEST),
    K.APPROVAL_WITHDRAWN: KindDisplay(withdrawn, "wait", feed=DECISION),
    K.APPROVAL_EXPIRED: KindDisplay(
        lambda d, who: "Approval expired without a decision",
        "wait",
        feed=DECISION,
        compared=REQUEST,
    ),
    K.APPROVAL_SETTLED: KindDisplay(settled, "wait", feed=DECISION),
    K.APPROVAL_ESCALATED: KindDisplay(
        lambda d, who: (
            f"Nobody decided{proposal(d)} in time; {cut(d.get('to') or 'others')} can now decide"
        ),
        "wait",
        feed=DECISION,
    ),
    K.APPROVAL_REMINDED: KindDisplay(
        lambda d, who: (
            f"Reminded of{proposal(d) or ' a request'} ({d.get('reminder', '?')} of "
            f"{d.get('reminders', '?')})"
        ),
        "wait",
        feed=DECISION,
    ),
    K.APPROVAL_REPLIED: KindDisplay(replied, "wait", feed=DECISION, compared=REQUEST),
    K.TURN_HANDED_OVER: KindDisplay(
        lambda d, who: f"{who} handed{proposal(d)} over to {deputy(d)}", "cp"
    ),
    K.DECISION_RECORDED: KindDisplay(vote_recorded, "wait", feed=DECISION),
    K.DECISION_TAKEN_BACK: KindDisplay(
        lambda d, who: f"{who} undid the decision:{proposal(d) or ' ?'}", "wait", feed=DECISION
    ),
    K.DECISION_REFUSED: KindDisplay(
        lambda d, who: (
            f"{who} tried to decide{proposal(d)} and may not: {cut(d.get('reason') or '?')}"
        ),
        "wait",
        FAIL,
        feed=FAILURE,
    ),
    K.OPERATION_DONE: KindDisplay(
        lambda d, who: f"Approved by a second person and done:{proposal(d) or ' ?'}", "cp"
    ),
    K.OPERATION_FAILED: KindDisplay(
        lambda d, who: (
            f"Approved by a second person but not done:{proposal(d)} {cut(d.get('said') or '?')}"
        ),
        "cp",
        FAIL,
        feed=FAILURE,
    ),
    K.PAUSE_REQUESTED: KindDisplay(
        lambda d, who: (
            f"{who} asked to pause"
            + (f" before {d['before']}" if d.get("before") else "")
            + reason(d)
        ),
        "pause",
    ),
    K.THREAD_RENAMED: KindDisplay(
        lambda d, who: f"{who} renamed the thread: {d.get('title', '')}", "edit"
    ),
    K.THREAD_MOVED_UP: KindDisplay(
        lambda d, who: f"{who} moved the thread up in its queue{reason(d)}", "first"
    ),
    K.TITLE_SUGGESTED: KindDisplay(
        lambda d, who: f"{who} suggested the title: {d.get('title', '')}", "edit"
    ),
    K.CODE_CHANGED: KindDisplay(
        lambda d, who: (
            f"{who} accepted the changed code"
            if d.get("by") == "choice"
            else "The agent's code is the same; only the method of its fingerprint changed"
            if d.get("by") == "same"
            else "The agent's code changed while the thread was waiting"
        ),
        "stuck",
        STUCK,
    ),
    K.CODE_PINNED: KindDisplay(
        lambda d, who: f"{who} pinned it to the code it stopped with", "stuck"
    ),
    K.CODE_UNPINNED: KindDisplay(
        lambda d, who: f"{who} unpinned it: any matching code may continue it", "stuck"
    ),
    K.CHECKPOINT_SKIPPED: KindDisplay(
        lambda d, who: (
            f"Checkpoint {d.get('from')} does not match its hash and was skipped; "
            f"continuing from {d.get('to')}"
        ),
        "cp",
        STUCK,
    ),
    K.THREAD_IMPORTED: KindDisplay(
        lambda d, who: (
            f"{who} imported the thread; it was {d.get('status', 'elsewhere')} where it came from"
        ),
        "file",
    ),
    K.CHILD_STARTED: KindDisplay(lambda d, who: children_started(d), "cp", compared=OTHER),
    K.CHILD_JOINED: KindDisplay(lambda d, who: children_joined(d), "cp", compared=OTHER),
    K.THREAD_HANDED_OFF: KindDisplay(
        lambda d, who: f"Handed over to {cut(d.get('agent') or 'another agent')}",
        "cp",
        compared=OTHER,
    ),
    # The log of a workspace.
    W.WORKSPACE_CREATED: KindDisplay(
        lambda d, who: f"{who} made the workspace {cut(d.get('name', ''))}"
    ),
    W.WORKSPACE_RENAMED: KindDisplay(
        lambda d, who: (
            f"{who} renamed the workspace from {cut(d.get('from', ''))} to {cut(d.get('to', ''))}"
        )
    ),
    W.MEMBER_ADDED: KindDisplay(
        lambda d, who: f"{who} added {cut(d.get('name', '?'))} to the workspace"
    ),
    W.MEMBER_REMOVED: KindDisplay(
        lambda d, who: f"{cut(d.get('name', '?'))} was removed from the workspace"
    ),
    W.ROLE_GRANTED: KindDisplay(
        lambda d, who: f"{who} gave {cut(d.get('name', '?'))} the role {d.get('role', '?')}"
    ),
    W.ROLE_WITHDRAWN: KindDisplay(
        lambda d, who: f"{who} took the role {d.get('role', '?')} from {cut(d.get('name', '?'))}"
    ),
    W.ROLE_REFUSED: KindDisplay(
        lambda d, who: (
            f"{who} tried to give themselves the role {d.get('role', '?')}, which was refused"
        )
    ),
    W.USER_CREATED: KindDisplay(lambda d, who: f"{who} made the user {cut(d.get('name', '?'))}"),
    W.USER_CHANGED: KindDisplay(
        lambda d, who: (
            f"{who} changed {', '.join(d.get('changed') or ()) or 'nothing'} "
            f"of {cut(d.get('name', '?'))}"
        )
    ),
    W.USER_DISABLED: KindDisplay(
        lambda d, who: f"{who} disabled the login of {cut(d.get('name', '?'))}"
    ),
    W.ACCESS_ASKED: KindDisplay(
        lambda d, who: f"{who} asked another admin to confirm: {access(d)}"
    ),
    W.ACCESS_CONFIRMED: KindDisplay(lambda d, who: f"{who} confirmed: {access(d)}"),
    W.ACCESS_REFUSED: KindDisplay(lambda d, who: f"{who} refused: {access(d)}"),
    W.ACCESS_EXPIRED: KindDisplay(lambda d, who: f"Nobody confirmed in time: {access(d)}"),
    W.ACCESS_CHANGED: KindDisplay(
        lambda d, who: f"{who} changed on the machine itself: {access(d)}"
    ),
    W.LOGIN_BEGUN: KindDisplay(
        lambda d, who: (
            f"{cut(d.get('name', '?'))} signed in by {d.get('method', '?')} "
            f"with {d.get('device', '?')}"
        )
    ),
    W.LOGIN_FAILED: KindDisplay(lambda d, who: f"A sign-in as {cut(d.get('name', '?'))} failed"),
    W.LOGIN_ENDED: KindDisplay(
        lambda d, who: (
            f"{who} signed out"
            if d.get("why") in ("out", "again")
            else f"{who} ended a sign-in of {cut(d.get('name', '?'))}"
        )
    ),
    W.TOKEN_CREATED: KindDisplay(lambda d, who: f"{who} created {token(d)}"),
    W.TOKEN_REVOKED: KindDisplay(lambda d, who: f"{who} revoked {token(d)}"),
    W.IDENTITY_LINKED: KindDisplay(
        lambda d, who: f"{who} linked {cut(d.get('name', '?'))} to {cut(d.get('provider', '?'))}"
    ),
    W.IDENTITY_UNLINKED: KindDisplay(
        lambda d, who: (
            f"{who} unlinked {cut(d.get('name', '?'))} from {cut(d.get('provider', '?'))}"
        )
    ),
    W.FACTOR_ADDED: KindDisplay(lambda d, who: f"{cut(d.get('name', '?'))} added a second factor"),
    W.FACTOR_REMOVED: KindDisplay(
        lambda d, who: f"{who} removed the second factor of {cut(d.get('name', '?'))}"
    ),
    W.FACTOR_RECOVERED: KindDisplay(
        lambda d, who: f"{who} used a recovery code; {d.get('left', '?')} are left"
    ),
    W.FACTOR_REQUIRED: KindDisplay(
        lambda d, who: (
            f"{who} requires a second factor of: {', '.join(d.get('to') or ()) or 'nobody'}"
        )
    ),
    W.PASSKEY_ADDED: KindDisplay(lambda d, who: f"{cut(d.get('name', '?'))} added a passkey"),
    W.PASSKEY_REMOVED: KindDisplay(
        lambda d, who: f"{who} removed a passkey of {cut(d.get('name', '?'))}"
    ),
    W.PASSKEY_REFUSED: KindDisplay(
        lambda d, who: (
            f"A passkey of {cut(d.get('name', '?'))} was refused: it counted {d.get('count', '?')} "
            f"after {d.get('known', '?')}, so there is a copy of it"
        )
    ),
    W.CAPSULE_EXPORTED: KindDisplay(
        lambda d, who: f"{who} exported a capsule of thread {cut(d.get('thread', '?'))[:8]}"
    ),
    W.CHANNEL_REVEALED: KindDisplay(
        lambda d, who: (
            f"{who} read the encrypted channel {cut(d.get('channel') or '?')} at checkpoint "
            f"{d.get('number', '?')}"
        )
    ),
    W.POLICY_MADE: KindDisplay(
        lambda d, who: f"{who} created the policy {cut(d.get('name') or '?')}"
    ),
    W.POLICY_CHANGED: KindDisplay(
        lambda d, who: (
            f"{who} changed the policy {cut(d.get('name') or '?')}"
            + (f", version {d['number']}" if "number" in d else ", its position")
        )
    ),
    W.POLICY_SWITCHED: KindDisplay(
        lambda d, who: (
            f"{who} switched the policy {cut(d.get('name') or '?')} "
            + ("on" if d.get("active") else "off")
        )
    ),
    W.CAP_CHANGED: KindDisplay(
        lambda d, who: (
            f"{who} set the spend cap of {d.get('agent') or 'each'} {d.get('scope')} "
            f"({d.get('per')}) to {d.get('max_cost')}"
            + ("" if d.get("active") else ", switched off")
        )
    ),
    W.ENDPOINT_MADE: KindDisplay(lambda d, who: f"{who} created {endpoint(d)}"),
    W.ENDPOINT_CHANGED: KindDisplay(lambda d, who: f"{who} changed {endpoint(d)}"),
    W.ENDPOINT_ROTATED: KindDisplay(lambda d, who: f"{who} rotated the secret of {endpoint(d)}"),
    W.ENDPOINT_SWITCHED: KindDisplay(
        lambda d, who: f"{who} switched {endpoint(d)} " + ("on" if d.get("active") else "off")
    ),
    W.ENDPOINT_TESTED: KindDisplay(
        lambda d, who: f"{who} sent a test message through {endpoint(d)}"
    ),
    W.HOOK_CREATED: KindDisplay(lambda d, who: f"{who} created {hook(d)}"),
    W.HOOK_ROTATED: KindDisplay(lambda d, who: f"{who} rotated the secret of {hook(d)}"),
    W.HOOK_DISABLED: KindDisplay(lambda d, who: f"{who} disabled {hook(d)}"),
    W.HOOK_ENABLED: KindDisplay(lambda d, who: f"{who} enabled {hook(d)}"),
    W.HOOK_MAPPED: KindDisplay(lambda d, who: f"{who} mapped {identity(d)} to a person"),
    W.HOOK_CONFIRMED: KindDisplay(
        lambda d, who: (
            f"{who} confirmed that “{cut(d.get('identity', '?'))}” in the hook "
            f"{cut(d.get('name', '?'))} stands for them"
        )
    ),
    W.HOOK_UNMAPPED: KindDisplay(lambda d, who: f"{who} unmapped {identity(d)}"),
    W.HOOK_REFUSED: KindDisplay(
        lambda d, who: f"A call to {hook(d)} was refused: {cut(d.get('why', '?'))}"
    ),
    W.MCP_SERVER_ADDED: KindDisplay(lambda d, who: f"{who} added {mcp_server(d)}"),
    W.MCP_SERVER_CHANGED: KindDisplay(lambda d, who: f"{who} changed {mcp_server(d)}"),
    W.MCP_SERVER_REMOVED: KindDisplay(lambda d, who: f"{who} removed {mcp_server(d)}"),
    W.MCP_TOOL_LISTED: KindDisplay(
        lambda d, who: (
            f"The server lists {mcp_tool(d)} "
            + ("with another definition" if d.get("changed") else "for the first time")
        )
    ),
    W.MCP_TOOL_ACCEPTED: KindDisplay(lambda d, who: f"{who} accepted {mcp_tool(d)}"),
    W.MCP_TOOL_CHANGED: KindDisplay(lambda d, who: f"{who} changed what {mcp_tool(d)} may do"),
    W.BREAKER_TRIPPED: KindDisplay(
        lambda d, who: (
            f"{who} stopped {selection_words(d.get('selection') or {})}{quoted(d.get('reason'))}"
        )
    ),
    W.BREAKER_RELEASED: KindDisplay(
        lambda d, who: (
            f"{who} released {'the rest' if d.get('rest') else 'some'} of "
            f"{selection_words(d.get('selection') or {})}, {d.get('released') or 0} "
            f"thread{'' if d.get('released') == 1 else 's'} immediately{quoted(d.get('reason'))}"
        )
    ),
    W.MEMORY_REMEMBERED: KindDisplay(
        lambda d, who: f"{who} remembered something for {_MEMORY_OF.get(d.get('scope', ''), '?')}"
    ),
    W.MEMORY_CORRECTED: KindDisplay(
        lambda d, who: f"{who} corrected a memory{quoted(d.get('reason'))}"
    ),
    W.MEMORY_FORGOTTEN: KindDisplay(
        lambda d, who: (
            f"{who} deleted {d['memories'] if d.get('memories') else 'a'} "
            f"memor{'ies' if d.get('memories') else 'y'}{quoted(d.get('reason'))}"
        )
    ),
    W.ERASURE_REQUESTED: KindDisplay(
        lambda d, who: f"{who} requested an erasure{quoted(d.get('reason'))}"
    ),
    W.ERASURE_APPROVED: KindDisplay(
        lambda d, who: f"{who} approved an erasure{quoted(d.get('reason'))}"
    ),
    W.ERASURE_REFUSED: KindDisplay(
        lambda d, who: f"{who} refused an erasure{quoted(d.get('reason'))}"
    ),
    W.ERASURE_FINISHED: KindDisplay(
        lambda d, who: (
            f"Erasure done: {d.get('threads') or 0} thread{'' if d.get('threads') == 1 else 's'}"
        )
    ),
    W.THREAD_ERASED: KindDisplay(
        lambda d, who: f"Content of a thread erased{quoted(d.get('reason'))}"
    ),
    W.HOLD_SET: KindDisplay(lambda d, who: f"{who} set a legal hold{quoted(d.get('reason'))}"),
    W.HOLD_LIFTED: KindDisplay(
        lambda d, who: f"{who} lifted a legal hold{quoted(d.get('reason'))}"
    ),
    W.RETENTION_CHANGED: KindDisplay(
        lambda d, who: (
            f"{who} set retention of {cut(d.get('agent') or 'all agents')} "
            + (f"to {d.get('days')} days" if d.get("active") else "off")
        )
    ),
    W.SUBSCRIPTION_MADE: KindDisplay(lambda d, who: f"{who} created {subscription(d)}"),
    W.SUBSCRIPTION_CHANGED: KindDisplay(lambda d, who: f"{who} changed {subscription(d)}"),
    W.SUBSCRIPTION_REMOVED: KindDisplay(lambda d, who: f"{who} removed {subscription(d)}"),
    W.VIEW_SAVED: KindDisplay(lambda d, who: f"{who} saved {view(d)}"),
    W.VIEW_CHANGED: KindDisplay(lambda d, who: f"{who} changed {view(d)}"),
    W.VIEW_REMOVED: KindDisplay(lambda d, who: f"{who} removed {view(d)}"),
    W.QUIET_HOURS_SET: KindDisplay(
        lambda d, who: (
            f"{who} set quiet hours from {cut(d.get('begins'))} to {cut(d.get('ends'))} "
            f"({cut(d.get('zone'))})"
        )
    ),
    W.QUIET_HOURS_REMOVED: KindDisplay(lambda d, who: f"{who} ended quiet hours"),
    W.DEVICE_ADDED: KindDisplay(
        lambda d, who: f"{who} turned on notifications for the device {cut(d.get('name'))}"
    ),
    W.DEVICE_REMOVED: KindDisplay(
        lambda d, who: (
            f"The device {cut(d.get('name'))} is gone"
            if d.get("why")
            else f"{who} removed the device {cut(d.get('name'))}"
        )
    ),
    W.DEPUTY_NAMED: KindDisplay(
        lambda d, who: (
            f"{who} let {cut(d.get('deputy_name'))} act for {cut(d.get('person_name'))}"
            f"{' in one request' if d.get('approval') else ''}{quoted(d.get('reason'))}"
        )
    ),
    W.DEPUTY_REMOVED: KindDisplay(
        lambda d, who: (
            f"{who} ended {cut(d.get('deputy_name'))} acting for {cut(d.get('person_name'))}"
        )
    ),
    W.INCIDENT_TAKEN: KindDisplay(lambda d, who: f"{who} assigned {incident(d)} to themselves"),
    W.INCIDENT_RELEASED: KindDisplay(lambda d, who: f"{who} unassigned {incident(d)}"),
    W.INCIDENT_SNOOZED: KindDisplay(
        lambda d, who: f"{who} snoozed {incident(d)} until {cut(d.get('until'))}"
    ),
    W.INCIDENT_WOKEN: KindDisplay(lambda d, who: f"{who} ended the snooze of {incident(d)}"),
    W.INCIDENT_CLOSED: KindDisplay(
        lambda d, who: f"{who} closed {incident(d)}: “{cut(d.get('reason'))}”"
    ),
    W.INCIDENT_DROPPED: KindDisplay(
        lambda d, who: (
            f"{who} removed {incidents(d.get('incidents'))} that closed over {d.get('days')} "
            "days ago"
        )
    ),
    W.BUDGET_CHANGED: KindDisplay(
        lambda d, who: (
            f"{who} set the monthly budget of {budget_words(d)} to {budget_limit(d)}"
            + (", stopping its threads at 100 %" if d.get("at_full") == "stop" else "")
            + ("" if d.get("active") else ", switched off")
        )
    ),
    W.BUDGET_REACHED: KindDisplay(
        lambda d, who: (
            f"{d.get('band')} % of the budget of {budget_words(d)} for {d.get('month')} is spent"
            + ("; a breaker stopped its threads" if d.get("breaker") else "")
        )
    ),
    W.SECRETS_ENCRYPTED: KindDisplay(
        lambda d, who: (
            f"{who} encrypted {d.get('texts', '?')} secret{'' if d.get('texts') == 1 else 's'} "
            f"({cut(d.get('of', '?'))}) with the newest key"
        )
    ),
    W.RECORD_BEGUN: KindDisplay(
        lambda d, who: (
            f"Recording of {cut(', '.join(d.get('tables') or ()) or 'agent versions')} begins"
        )
    ),
    W.EXPORT_BEGUN: KindDisplay(
        lambda d, who: f"{who} started an export of events as {d.get('form', '?')}"
    ),
    W.RECORD_EXPORTED: KindDisplay(
        lambda d, who: (
            f"{who} exported {d.get('events', '?')} event{'' if d.get('events') == 1 else 's'} "
            f"as {d.get('form', '?')}"
        )
    ),
    W.RECORD_ASKED: KindDisplay(
        lambda d, who: (
            f"{who} asked the record"
            + (", which had an answer" if d.get("sources") else ", which had no answer")
        )
    ),
    W.RECORD_DAMAGED: KindDisplay(
        lambda d, who: f"{who} found {record(d)} damaged: {cut(d.get('what') or '?')}"
    ),
    W.RECORD_RESTORED: KindDisplay(lambda d, who: f"{who} found {record(d)} intact again"),
}


def event_sentence(event: EventRow, people: Mapping[str, str] | None = None) -> str:
    """Describe an event in one sentence without a full stop."""
    data, who = event.data, person(event.actor, people, imported=event.imported)
    display = KINDS.get(event.kind)
    if display is None or is_blank(data):
        words = _kind_words(event.kind, data)
        return f"{words}{reason({'text': data.get('name')} | dict(data))}"
    return display.sentence(data, who)


def _kind_words(kind: str, data: Mapping[str, Any]) -> str:
    """An event's kind as words, `step.failed` as "Step failed", and whether its data are erased."""
    words = kind.replace("_", " ").replace(".", " ", 1).capitalize()
    return f"{words}; its content was erased" if is_blank(data) else words


def display_of(kind: str) -> KindDisplay:
    """The display of a kind; one of a later release, which a capsule may bring, has no colour."""
    return KINDS.get(kind) or _UNKNOWN


def event_icon(kind: str) -> str:
    """The icon of an event kind."""
    return display_of(kind).icon


def event_tone(kind: str) -> str:
    """The tone class of an event kind; most events are neutral."""
    return display_of(kind).tone


_UNKNOWN: Final = KindDisplay(lambda d, who: "")

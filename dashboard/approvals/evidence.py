"""Evidence for a decision: the last comparable action, former revisions, questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from approvals.queries import ApprovalRow
from approvals.rules.votes import Vote
from approvals.states import ALLOWING
from checkpoints import queries
from checkpoints.queries import why as standstill
from checkpoints.state.schema_texts import with_definitions
from checkpoints.views import ActivityRow, AgentRow, EventRow, ThreadRow, WorkerRow
from dashboard.html import differences
from dashboard.wording.sentences import worker

SHOWN = 5
FOLLOWED_MAX = 12
AGAIN = "Asked again: "  # how the engine begins a description that says why
# The log around a decision: who took the thread then, and which checkpoint came first.
AFTERWARDS = ("lease.acquired", "lease.taken_over", "checkpoint.committed")


@dataclass(frozen=True, slots=True)
class Compared:
    """Another action beside this one: its arguments, when it was decided, what differs."""

    row: ApprovalRow
    args: Any
    at: datetime | None
    changes: differences.Changes

    @property
    def count(self) -> int:
        """The number of values that differ."""
        return self.changes.added + self.changes.changed + self.changes.removed


@dataclass(frozen=True, slots=True)
class Question:
    """A reviewer's question to the agent, and its answer; None: not yet."""

    vote: Vote
    reply: str | None
    replied_at: datetime | None


@dataclass(frozen=True, slots=True)
class Resumed:
    """The effect of a decision: the worker and its checkpoint, or why there is none yet."""

    by: str = ""
    checkpoint: int | None = None
    why: str = ""
    action: str = ""


def against(
    row: ApprovalRow, other: ApprovalRow, args: Any, schema: Mapping[str, Any] | None
) -> Compared:
    """Compare the current arguments with these of another request."""
    at = other.decided_at or other.requested_at
    return Compared(other, args, at, differences.changes(row.shown_args, args, schema))


def last_comparable(
    row: ApprovalRow, history: Sequence[ApprovalRow], schema: Mapping[str, Any] | None
) -> Compared | None:
    """The newest action of the same tool and agent that people let happen."""
    for other in history:
        if other.outcome in ALLOWING:
            done = other.shown_args if other.decided_args is None else other.decided_args
            return against(row, other, done, schema)
    return None


def former(row: ApprovalRow, at_step: Sequence[ApprovalRow]) -> ApprovalRow | None:
    """The revision before this one, out of the requests of its step."""
    position = (row.node, row.index, row.key)
    before = [
        one
        for one in at_step
        if (one.node, one.index, one.key) == position and one.revision < row.revision
    ]
    return max(before, key=lambda one: one.revision, default=None)


def reappeared(row: ApprovalRow, before: ApprovalRow) -> str:
    """Explain in a sentence why a request came back; in the engine's words if it gave any."""
    if message := split_again(row.description)[0]:
        return f"Nothing was done under the previous request: {message}"
    if before.status == "expired":
        return "The previous request expired, so the agent asks again."
    if before.status == "withdrawn":
        message = f": {before.comment}" if before.comment else "."
        return f"The previous request was withdrawn{message}"
    done = before.shown_args if before.decided_args is None else before.decided_args
    if done != row.args:
        changed = "the arguments have changed since"
    elif before.agent_version_id != row.agent_version_id:
        changed = "the agent’s code has changed since"
    elif before.policy_version != row.policy_version:
        changed = "another policy requires it now"
    else:
        changed = (
            "the approval no longer counted: it was too old, or its reviewer may no longer decide"
        )
    verdict = {"reject": "rejected", "respond": "answered"}.get(before.outcome, "approved")
    return f"It was {verdict} before, and nothing was done: {changed}."


def arguments_schema(row: ApprovalRow, version: AgentRow) -> dict[str, Any] | None:
    """The request's own schema of the arguments, else the tool's; None where there is none."""
    if not row.gate:
        return None
    tool = version.tools.get(row.tool)
    own_schema = row.schema if isinstance(row.schema, dict) else {}
    if "properties" in own_schema or "type" in own_schema:
        return dict(with_definitions(own_schema))
    result = tool.get("schema") if isinstance(tool, dict) else None
    return dict(with_definitions(result)) if isinstance(result, dict) else None


def about(row: ApprovalRow, log: Sequence[EventRow]) -> list[EventRow]:
    """The agent's replies to questions about this request, oldest first."""
    return [
        event
        for event in reversed(log)
        if event.kind == "approval.replied" and event.data.get("approval") == str(row.id)
    ]


def split_again(description: str) -> tuple[str, str]:
    """(why it is asked again, the description itself) of a request that came back."""
    if not description.startswith(AGAIN):
        return "", description
    message, _, rest = description.partition("\n\n")
    return message.removeprefix(AGAIN).strip(), rest


def questions(votes: Sequence[Vote], replies: Sequence[EventRow]) -> list[Question]:
    """List the questions about a request, oldest first, with the agent's replies."""
    payload: dict[str, EventRow] = {}
    for event in replies:
        payload.setdefault(str(event.data.get("decision", "")), event)
    results = []
    for vote in votes:
        if vote.verdict == "respond":
            reply = payload.get(str(vote.decision))
            text = None if reply is None else str(reply.data.get("text", ""))
            results.append(Question(vote, text, reply.at if reply else None))
    return results


def resumed(
    row: ApprovalRow,
    thread: ThreadRow,
    log: Sequence[EventRow],
    workers: Sequence[WorkerRow],
) -> Resumed:
    """Find the effect of a settled decision; `log` is newest first."""
    since = row.effective_at or row.decided_at
    after = [e for e in reversed(log) if since is not None and e.at >= since]
    by = next((worker(e.actor) for e in after if e.kind.startswith("lease.")), "")
    saved = next((e for e in after if e.kind == "checkpoint.committed"), None)
    if not by and saved is not None:
        by = worker(saved.actor)
    number = None if saved is None else saved.data.get("number")
    if by:
        return Resumed(by, number if isinstance(number, int) else None)
    result = standstill.why_waiting(thread, (), workers)
    return Resumed(why=result.sentence, action=result.action)


@dataclass(frozen=True, slots=True)
class Followed:
    """An effect that a decision set going: its sentence, else its tool; how often, its state."""

    sentence: str
    times: int
    state: str


def followed(first: ActivityRow) -> list[Followed]:
    """The effects of the thread after this one that nobody was asked about, oldest first."""
    effects = [fate.activity for fate in reversed(queries.effects_of(first.thread))]
    later = [
        one
        for one in effects
        if one.id != first.id and one.approval is None and one.started_at >= first.started_at
    ]
    counts = Counter((one.sentence or one.tool, one.state) for one in later)
    return [
        Followed(sentence, times, state)
        for (sentence, state), times in islice(counts.items(), FOLLOWED_MAX)
    ]

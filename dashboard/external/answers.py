"""Answers to agents that work elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Self
from uuid import UUID

from pydantic import Field

from approvals.policies import node_policies
from approvals.queries import ApprovalRow
from checkpoints.queries.threads import ThreadSummary
from checkpoints.store import NewCheckpoint
from checkpoints.views import ActivityRow, CheckpointRow, InputRow, ThreadRow
from dashboard.documents.state_shape import Shape
from dashboard.kit.shapes.requests import Json


# Few of many columns, since every call of an agent elsewhere answers it, and its policies.
class ThreadNow(Shape):
    """A thread as it stands after the call."""

    id: UUID
    status: str
    version: int
    seq: int = Field(description="The number of its last event.")
    head: UUID
    number: int
    step: int
    branch: int
    next_nodes: list[str]
    wish: str
    pause_at: str
    fence: int
    lease_until: datetime | None
    policies_name_nodes: bool = Field(
        description="A policy of the workspace may stop the thread before a node: where you don't "
        "report `next_nodes`, send a begin at a node before its work."
    )
    policies_ask: bool = Field(
        description="The workspace has active policies: begin each call before you make it."
    )

    @classmethod
    def of(cls, row: ThreadRow | ThreadSummary) -> Self:
        """The row as it was read."""
        own = {name: getattr(row, name) for name in cls.model_fields if hasattr(row, name)}
        more = {
            "seq": row.last_seq,
            "status": str(row.status),
            "policies_name_nodes": node_policies.exist(row.workspace),
            "policies_ask": node_policies.any_exist(row.workspace),
        }
        return cls(**own | more)


# What an agent needs of its request; who decides it is for people.
class RequestNow(Shape):
    """A request for approval, by the position that it was made at."""

    id: UUID
    node: str
    index: int
    key: str
    kind: str
    tool: str
    args: Any
    status: str
    outcome: str
    title: str
    sentence: str = Field(
        description="How the tool describes what was asked; empty where it does not."
    )
    risk: str
    proposal_hash: str
    deadline: datetime | None


class LeaseTaken(Shape):
    """The right to work on a thread, and where it stands."""

    token: UUID = Field(description="The header `Gatepost-Lease` of all that follows.")
    until: datetime
    seconds: int
    fence: int
    thread: ThreadNow
    state: Json
    config: Json
    activities: list[ActivityRow] = Field(description="On record of the step in progress.")
    approvals: list[RequestNow] = Field(description="Of the step in progress, newest revisions.")
    messages: list[InputRow] = Field(description="Not taken yet.")


class LeaseRenewed(Shape):
    """A lease that was prolonged."""

    until: datetime
    thread: ThreadNow


class ReportKept(Shape):
    """The answer to a saved report."""

    thread: ThreadNow


# Also of a checkpoint that was just written, which is no row of a reader yet.
class KeptCheckpoint(Shape):
    """A checkpoint that is committed."""

    id: UUID
    number: int
    step: int
    branch: int
    parent: UUID | None

    @classmethod
    def of(cls, row: CheckpointRow | NewCheckpoint) -> Self:
        """The row as it was read, or has just been written."""
        return cls.model_validate(row)


class CheckpointKept(Shape):
    """A checkpoint and the thread after it."""

    checkpoint: KeptCheckpoint
    thread: ThreadNow


class BegunActivity(Shape):
    """The agent's next action at a position."""

    do: Literal["call", "answer", "wait", "refused", "stop"]
    args: Any = Field(description="Exactly what to call it with.")
    idempotency_key: str = Field(description="Of an effect: pass it on, so that it happens once.")
    result: Any = Field(description="What is on record.")
    reason: str
    what_next: str = Field(description="What a refusal wants: go_on, stop or roll_back.")
    comment: str = Field(description="What the reviewer said.")
    by: str = Field(description="Who decided.")
    activity: ActivityRow | None
    approvals: list[RequestNow]
    thread: ThreadNow


class CheckedActivity(Shape):
    """The policy or gate that would stop a call; nothing was asked or recorded."""

    asks: bool = Field(description="Whether people would be asked before it.")
    blocks: bool = Field(description="Whether a policy would refuse it, and ask nobody.")
    by: Literal["", "node policy", "tool policy", "gate", "fork"]
    policy: str
    version: str = Field(description="Of the policy, such as `<uuid>@3`.")
    why: str
    risk: str
    thread: ThreadNow


class SettledActivity(Shape):
    """The recorded result of a call."""

    activity: ActivityRow
    thread: ThreadNow


class RecordedActivities(Shape):
    """All that is on record of a step, by position."""

    activities: list[ActivityRow]
    thread: ThreadNow


class AnswerOne(Shape):
    """The reviewers' answer to one request."""

    node: str
    index: int
    key: str
    state: Literal["answered", "waiting", "rejected", "expired"]
    answer: Any
    comment: str
    by: str


class Answers(Shape):
    """The reviewers' answers, or the requests that are still open."""

    do: Literal["answer", "wait", "stop"]
    answers: list[AnswerOne]
    approvals: list[RequestNow]
    thread: ThreadNow


class NextStep(Shape):
    """The next action on a thread."""

    do: Literal["take", "work", "wait", "undo", "stop", "ended"]
    reason: str
    seq: int
    lease: Literal["yours", "other", "none"]
    thread: ThreadNow
    messages: list[InputRow]
    approvals: list[RequestNow] = Field(description="Open ones.")
    undo: list[ActivityRow] = Field(description="Effects that you are to undo, in this order.")


# With the delta, which other answers about a checkpoint leave out.
class RecordedStep(Shape):
    """A checkpoint with what it changed, and what is on record of the step after it."""

    id: UUID
    thread: UUID
    number: int
    step: int
    branch: int
    parent: UUID | None
    parent_thread: UUID | None
    parent_number: int | None
    source: str
    nodes: list[str]
    next_nodes: list[str]
    created_at: datetime
    delta: Json
    activities: list[ActivityRow] = Field(description="Oldest first, with former revisions.")


class RecordedPast(Shape):
    """A page of a thread's own past, oldest first."""

    steps: list[RecordedStep]
    next_cursor: int | None = Field(description="`start` of the next page; null: there is none.")
    thread: ThreadNow

    @classmethod
    def of(
        cls,
        row: ThreadRow,
        points: Sequence[CheckpointRow],
        activities: Mapping[UUID, list[ActivityRow]],
    ) -> Self:
        """Checkpoints of the thread as they were read."""
        steps = [
            RecordedStep.model_validate({**_fields(point), "activities": activities[point.id]})
            for point in points
        ]
        more = bool(points) and points[-1].number < row.number
        return cls(
            steps=steps,
            next_cursor=points[-1].number + 1 if more else None,
            thread=ThreadNow.of(row),
        )


def _fields(point: CheckpointRow) -> dict[str, Any]:
    return {
        name: getattr(point, name) for name in RecordedStep.model_fields if hasattr(point, name)
    }


def requests_of(rows: list[ApprovalRow] | tuple[ApprovalRow, ...]) -> list[RequestNow]:
    """Requests as an agent is shown them."""
    return [RequestNow.model_validate(row) for row in rows]

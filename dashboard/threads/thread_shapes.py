"""Answers of the API about threads and agents; a comment says how one differs from its row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from approvals.policies.coverage import HeldTool, held_tools
from approvals.queries import ApprovalRow
from checkpoints.agent_versions import External
from checkpoints.durabilities import Durability
from checkpoints.log.closed_threads import ErasedRow
from checkpoints.views import (
    ActivityRow,
    AgentRow,
    CheckpointRow,
    EventRow,
    InputRow,
    ReasonRow,
    SavedRow,
    SignalRow,
    StorageRow,
    ThreadRow,
    VerificationRow,
)
from dashboard.documents.answer_json import with_more
from dashboard.documents.buffered import Buffered
from dashboard.documents.state_shape import Shape
from dashboard.html.comparison.endings import Ending
from dashboard.identity.permissions import Allowed, HasRoles, allowed_actions
from dashboard.threads.page.code_question import open_choices
from dashboard.threads.page.outcome import UndoOutcome

# Addresses that differ from the names of actions.
ADDRESS = {"roll_back": "rollback"}


class Lease(Shape):
    """The lease of a thread: its worker, until when, and its fence."""

    owner: str
    until: datetime | None
    fence: int


# The row has what pages need besides; here the lease stands apart, and sums are `totals`.
class Thread(Shape):
    """A thread."""

    id: UUID
    name: str | None
    title: str
    agent: str
    agent_version: str
    agent_version_id: UUID
    labels: dict[str, str]
    status: str
    status_since: datetime
    status_reason: str
    version: int
    head: UUID
    number: int
    step: int
    branch: int
    next_nodes: list[str]
    waiting_on: Any
    wake_at: datetime | None
    wish: str
    pause_at: str
    effects: str
    last_seq: int
    lease: Lease | None
    fence: int
    crash_count: int
    parent: UUID | None = Field(description="the thread whose step started it")
    root: UUID | None = Field(
        description="the first thread of its family tree; null for that one, and without a tree"
    )
    depth: int = Field(description="how far it stands below the first of its tree")
    base: UUID | None
    forked_from: UUID | None
    started_by: str
    totals: dict[str, Any]
    created_at: datetime
    message_channel: str = Field(description="the channel that takes new input; or empty")
    pinned: bool = Field(description="only the very code that it stopped with may take it")
    integrity: VerificationRow | None = Field(description="its last verification; null before any")
    durability: Durability = Field(
        description="what is kept of it; of an ephemeral one the ends of its turns, and totals"
    )
    external: External | None = Field(description="what an agent elsewhere says of itself")
    erased: ErasedRow | None = Field(
        description="by whom its content was erased; then it is closed"
    )

    @classmethod
    def values(cls, row: ThreadRow) -> dict[str, Any]:
        """Every member of this shape."""
        own = {name: getattr(row, name) for name in Thread.model_fields if hasattr(row, name)}
        lease = None
        if row.lease_owner:
            lease = Lease(owner=row.lease_owner, until=row.lease_until, fence=row.fence)
        return {
            **own,
            "agent_version": row.version_label,
            "status": str(row.status),
            "next_nodes": list(row.next_nodes),
            "lease": lease,
        }

    @classmethod
    def of(cls, row: ThreadRow) -> Self:
        """A row of a list."""
        return cls(**cls.values(row))


# Of an effect only what names it: its row has arguments and result, which may be large.
class UndoneEffect(Shape):
    """An effect that the last rollback undid, with the name of its undo."""

    activity: UUID
    tool: str
    sentence: str = Field(description="how its tool describes the call; empty where it does not")
    undo: str


class EffectLeft(Shape):
    """An effect that the last rollback left in place, or of which nobody knows whether it is."""

    activity: UUID
    tool: str
    sentence: str = Field(description="how its tool describes the call; empty where it does not")
    outcome: Literal["stays done", "unknown"]


class RollbackOutcome(Shape):
    """The effects that the last rollback undid, in the order of the undo, and those it left."""

    undone: list[UndoneEffect]
    left: list[EffectLeft]

    @classmethod
    def of(cls, outcome: UndoOutcome) -> Self:
        """The outcome as people read it on the thread's page."""
        return cls(
            undone=[
                UndoneEffect(activity=a.id, tool=a.tool, sentence=a.sentence, undo=a.undo)
                for a in outcome.undone
            ],
            left=[
                EffectLeft(
                    activity=one.activity.id,
                    tool=one.activity.tool,
                    sentence=one.activity.sentence,
                    outcome="unknown" if one.fate == "unknown" else "stays done",
                )
                for one in outcome.left
            ],
        )


class ThreadDetail(Thread):
    """A thread with what it waits for and what the caller may do with it now."""

    why_waiting: ReasonRow
    actions: dict[str, Allowed]
    approvals: list[UUID] = Field(description="open requests, newest first")
    code_choices: list[str] = Field(description="what `code/` takes now")
    inputs: list[InputRow] = Field(description="messages not taken yet, oldest first, at most 100")
    signals: list[SignalRow] = Field(description="signals not taken yet, oldest first")
    storage: StorageRow
    saved: SavedRow
    unpriced_calls: int = Field(
        description="model calls whose price nobody knows; `totals.cost` is without them"
    )
    rollback_outcome: RollbackOutcome | None = Field(
        description="where the newest state comes from a rollback: what was undone, what stays done"
    )
    buffered: Buffered | None = Field(
        description="steps of a hot agent that are not in the database yet; null of other agents"
    )

    @classmethod
    def from_row(
        cls,
        row: ThreadRow,
        *,
        why: ReasonRow,
        actor: HasRoles,
        approvals: list[ApprovalRow],
        inputs: list[InputRow],
        signals: list[SignalRow],
        storage: StorageRow,
        saved: SavedRow,
        unpriced_calls: int,
        undo_outcome: UndoOutcome | None,
    ) -> Self:
        """The detail for one caller."""
        actions = {
            ADDRESS.get(name, name): allowed
            for name, allowed in allowed_actions(actor, row).items()
        }
        return cls(
            **cls.values(row),
            why_waiting=why,
            actions=actions,
            approvals=[a.id for a in approvals],
            code_choices=list(open_choices(row)),
            inputs=inputs,
            signals=signals,
            storage=storage,
            saved=saved,
            unpriced_calls=unpriced_calls,
            buffered=Buffered.of(row),
            rollback_outcome=None if undo_outcome is None else RollbackOutcome.of(undo_outcome),
        )


class ThreadList(Shape):
    """Threads by their last change of status, newest first."""

    results: list[Thread]
    next_cursor: str


class Counts(Shape):
    """Threads per status, as the board counts them; finished ones are counted up to `cap`."""

    counts: dict[str, int] = Field(
        description="threads that no other one started, and children that are in attention"
    )
    children: int = Field(description="all other children, counted up to `cap`")
    open_approvals: int = Field(description="counted up to 1,000")
    damaged: int = Field(description="records that a verification found damaged")
    cap: int
    saved: SavedRow = Field(description="of the newest threads where there were over 2,000 faults")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint(CheckpointRow):
    """A checkpoint without its state."""

    shown: Annotated[
        dict[str, Any], Field(description="By channel of `show` what it was set to here.")
    ]

    @classmethod
    def of(cls, row: CheckpointRow, shown: dict[str, Any] | None = None) -> Self:
        """The row, with some of the values that it set."""
        return with_more(cls, row, shown=shown or {})


class CheckpointList(Shape):
    """A thread's own checkpoints, newest first."""

    results: list[Checkpoint]
    next_cursor: str


class EventList(Shape):
    """Events after a sequence number, oldest first; continue with `?after=<last_seq>`."""

    results: list[EventRow]
    last_seq: int
    next_cursor: str


class ActivityList(Shape):
    """Activities, newest first."""

    results: list[ActivityRow]


class Place(Shape):
    """A checkpoint by its address."""

    thread: UUID
    checkpoint: UUID
    number: int
    step: int


class Diff(Shape):
    """From one checkpoint to another: JSON Patch of the states, and where the lineages part.

    `common` is the last checkpoint that both go through. `diverged` is the first event of either
    side after it whose content differs, in `diverged_step`; null where a side has none of the kind.
    `equal_steps` counts the equal steps before it, those of the past that both share included.
    """

    from_: Place = Field(alias="from")
    to: Place
    patch: list[dict[str, Any]]
    common: Place | None
    diverged: dict[Literal["from", "to"], EventRow | None]
    diverged_step: int | None
    equal_steps: int
    compared_all: bool = Field(description="False where it stopped before the end.")
    ending: Ending | None = Field(description="Null unless both are the heads of two threads.")

    model_config = ConfigDict(from_attributes=True, populate_by_name=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDetail(AgentRow):
    """An agent version with what holds its tools in this workspace."""

    held_tools: list[HeldTool]

    @classmethod
    def of(cls, row: AgentRow, workspace: UUID) -> Self:
        """A version with what holds its tools in a workspace."""
        return with_more(cls, row, held_tools=held_tools(row, workspace=workspace))


class AgentList(Shape):
    """The newest version of each agent."""

    results: list[AgentRow]


# The reference as state holds it, not the row of a file.
class Artifact(BaseModel):
    """The reference that state holds."""

    sha256: str = Field(alias="$artifact")
    name: str
    media_type: str
    size: int

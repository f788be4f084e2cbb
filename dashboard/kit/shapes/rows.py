"""Answers of the API; each shape reads the row of a reader by the same names."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from approvals.policies.coverage import held_tools
from approvals.queries import ApprovalRow
from checkpoints.views import (
    AgentRow,
    CheckpointRow,
    InputRow,
    SavedRow,
    StorageRow,
    ThreadRow,
    Why,
)
from dashboard.documents.closed_shape import Erased
from dashboard.documents.ending_shape import Ending
from dashboard.documents.state_shape import Shape
from dashboard.identity.permissions import HasRoles, allowed_actions
from dashboard.threads.page.code_question import open_choices
from dashboard.threads.page.outcome import UndoOutcome

from .savings import Saved

# Addresses that differ from the names of actions.
ADDRESS = {"roll_back": "rollback"}
ELSEWHERE = "it came with a capsule: `user:7` in it is user 7 of another installation"


class Fault(Shape):
    """One refused value."""

    path: str
    message: str


class Problem(Shape):
    """A refusal (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    path: str = Field(description="JSON path from the root of the request")
    errors: list[Fault] | None = None


class Verification(Shape):
    """The result of verifying a thread; damage stays until no smaller one finds it intact."""

    intact: bool
    n_events: int
    broken_seq: int | None = Field(description="the first event that is not to be trusted")
    what: str
    checked_by: str
    checked_at: datetime
    found_at: datetime | None = Field(description="since when the damage is known")
    found_by: str


class Lease(Shape):
    """The lease of a thread: its worker, until when, and its fence."""

    owner: str
    until: datetime | None
    fence: int


class External(Shape):
    """An agent that works elsewhere: what it reports is its own word."""

    framework: str
    can: list[str] = Field(description="what it can continue from: edit, fork, roll_back")
    watched: bool = Field(description="only observed: nothing done here reaches it")


class Reason(Shape):
    """The reason for a thread's current status."""

    kind: str
    sentence: str
    since: datetime
    action: str
    facts: dict[str, Any]

    @classmethod
    def of(cls, why: Why) -> Self:
        """The same explanation as on the page."""
        return cls.model_validate(why)


class Allowed(Shape):
    """Permission for an action now, and what is missing."""

    allowed: bool
    why: str


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
    integrity: Verification | None = Field(description="its last verification; null before any")
    external: External | None = Field(description="what an agent elsewhere says of itself")
    erased: Erased | None = Field(description="by whom its content was erased; then it is closed")

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


class Input(Shape):
    """A message that was received and not taken yet; `seq` is the number of its event."""

    seq: int
    message: Any
    actor: str
    at: datetime
    imported: bool = Field(description=ELSEWHERE)


class Storage(Shape):
    """Space that a thread's own past takes.

    `bytes` is close, the counts are exact; of more than 200 activities the count is close too.
    Files in a storage that does not answer are not counted.
    """

    events: int
    checkpoints: int
    activities: int
    contents: int = Field(description="large values, each kept once")
    bytes: int


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

    why_waiting: Reason
    actions: dict[str, Allowed]
    approvals: list[UUID] = Field(description="open requests, newest first")
    code_choices: list[str] = Field(description="what `code/` takes now")
    inputs: list[Input] = Field(description="messages not taken yet, oldest first, at most 100")
    storage: Storage
    saved: Saved
    unpriced_calls: int = Field(
        description="model calls whose price nobody knows; `totals.cost` is without them"
    )
    rollback_outcome: RollbackOutcome | None = Field(
        description="where the newest state comes from a rollback: what was undone, what stays done"
    )

    @classmethod
    def from_row(
        cls,
        row: ThreadRow,
        *,
        why: Why,
        actor: HasRoles,
        approvals: list[ApprovalRow],
        inputs: list[InputRow],
        storage: StorageRow,
        saved: SavedRow,
        unpriced_calls: int,
        undo_outcome: UndoOutcome | None,
    ) -> Self:
        """The detail for one caller."""
        actions = {
            ADDRESS.get(name, name): Allowed.model_validate(a)
            for name, a in allowed_actions(actor, row).items()
        }
        return cls(
            **cls.values(row),
            why_waiting=Reason.of(why),
            actions=actions,
            approvals=[a.id for a in approvals],
            code_choices=list(open_choices(row)),
            inputs=[Input.model_validate(i) for i in inputs],
            storage=Storage.model_validate(storage),
            saved=Saved.model_validate(saved),
            unpriced_calls=unpriced_calls,
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
    saved: Saved = Field(description="of the newest threads where there were over 2,000 faults")


class Checkpoint(Shape):
    """A checkpoint without its state."""

    id: UUID
    thread: UUID
    number: int
    branch: int
    step: int
    parent: UUID | None
    parent_thread: UUID | None
    parent_number: int | None
    source: str
    nodes: list[str]
    next_nodes: list[str]
    state_hash: str
    state_bytes: int
    schema_version: int
    agent_version_id: UUID
    created_by: str
    created_at: datetime
    abandoned: bool
    imported: bool = Field(description=ELSEWHERE)
    shown: dict[str, Any] = Field({}, description="By channel of `show` what it was set to here.")

    @classmethod
    def of(cls, row: CheckpointRow, shown: dict[str, Any]) -> Self:
        """The row, with some of the values that it set."""
        return cls.model_validate(row).model_copy(update={"shown": shown})


class CheckpointList(Shape):
    """A thread's own checkpoints, newest first."""

    results: list[Checkpoint]
    next_cursor: str


class Event(Shape):
    """An entry of a thread's log."""

    seq: int
    kind: str
    actor: str
    data: Any
    at: datetime
    hash: str
    prev_hash: str
    imported: bool = Field(description=ELSEWHERE)
    untrusted: bool = Field(description="the record is damaged at or before it: do not rely on it")


class EventList(Shape):
    """Events after a sequence number, oldest first; continue with `?after=<last_seq>`."""

    results: list[Event]
    last_seq: int
    next_cursor: str


class Activity(Shape):
    """Something that happened once."""

    id: UUID
    branch: int
    step: int
    node: str
    index: int
    key: str
    kind: str
    tool: str
    state: str
    approval: UUID | None = Field(description="the request under which it was carried out")
    args: Any
    result: Any = Field(
        description='a part that JSON cannot hold exactly stands as `{"$exact": {kind: text}}`'
    )
    error: str
    attempts: int
    idempotency_key: str
    progress: Any
    usage: Any
    sentence: str = Field(description="how its tool describes the call; empty where it does not")
    undo: str
    undo_result: Any
    started_at: datetime
    finished_at: datetime | None
    cursor: Any = Field(description="where an unfinished call would continue")


class ActivityList(Shape):
    """Activities, newest first."""

    results: list[Activity]


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
    diverged: dict[Literal["from", "to"], Event | None]
    diverged_step: int | None
    equal_steps: int
    compared_all: bool = Field(description="False where it stopped before the end.")
    ending: Ending | None = Field(description="Null unless both are the heads of two threads.")

    model_config = ConfigDict(from_attributes=True, populate_by_name=True)


class Agent(Shape):
    """One agent version as a worker announced it."""

    id: UUID
    agent: str
    version: int
    fingerprint: str
    label: str
    description: str
    schema_version: int
    schema_: dict[str, Any] = Field(alias="schema", description="JSON Schema of the state")
    channels: dict[str, Any]
    graph: dict[str, Any]
    tools: dict[str, Any]
    queue: str
    created_at: datetime
    live_workers: int


class Holding(Shape):
    """An active policy that would ask about calls of a tool, or block them."""

    policy: UUID
    name: str
    when: Literal["always", "depends on the call"]
    blocks: bool = Field(description="It refuses the calls, and nobody is asked.")


class HeldTool(Shape):
    """A tool that the agent announces, and what holds it."""

    tool: str
    undo: str = Field(description="What undoes a call; empty: it cannot be undone.")
    holdings: list[Holding] = Field(
        description="Those that block first, the others in the order of the policies."
    )
    escapes: str = Field(description="Why no policy can hold it; empty where one can.")


class AgentDetail(Agent):
    """An agent version with what holds its tools in this workspace."""

    held_tools: list[HeldTool]

    @classmethod
    def of(cls, row: AgentRow, workspace: UUID) -> Self:
        """A version with what holds its tools in a workspace."""
        own = Agent.model_validate(row).model_dump(by_alias=True)
        held = [HeldTool.model_validate(one) for one in held_tools(row, workspace=workspace)]
        return cls(**own, held_tools=held)


class AgentList(Shape):
    """The newest version of each agent."""

    results: list[Agent]


class Artifact(BaseModel):
    """The reference that state holds."""

    sha256: str = Field(alias="$artifact")
    name: str
    media_type: str
    size: int

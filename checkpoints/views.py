"""What the readers answer: frozen dataclasses, no ORM, safe to hand to templates and APIs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import Field, computed_field

from .agent_versions import External
from .breakers.rule import StoppedRow
from .durabilities import DURABLE, EPHEMERAL, NOT_KEPT, Acknowledge, Durability
from .log.closed_threads import ErasedRow
from .states import LIVE, Status

# Said of `imported`, where there are people in a row.
ELSEWHERE: Final = "it came with a capsule: `user:7` in it is user 7 of another installation"


class AtLeast(int):
    """A count that ended before its end: there are as many, perhaps more."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Page[T]:
    """A page of rows; `next_cursor` is empty on the last one."""

    rows: tuple[T, ...]
    next_cursor: str = ""


@dataclass(frozen=True, slots=True)
class VerificationRow:
    """The result of verifying a thread; damage stays until no smaller one finds it intact."""

    n_events: int
    intact: bool
    broken_seq: Annotated[
        int | None, Field(description="the first event that is not to be trusted")
    ]
    what: str
    checked_by: str
    checked_at: datetime
    found_at: Annotated[datetime | None, Field(description="since when the damage is known")] = None
    found_by: str = ""

    def damage_at(self, seq: int) -> str:
        """Say why an event is untrusted; empty of one before the damage."""
        return self.what if not self.intact and seq >= (self.broken_seq or 0) else ""


@dataclass(frozen=True, slots=True)
class StuckRow:
    """A reason why a thread is stuck: the rule, at which node, since when, in words; what helps.

    Rules: attention, queue, lease, silent, repeats, person.
    """

    rule: str
    node: str
    since: datetime
    reason: str
    action: str


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """A thread as lists and pages show it.

    Events up to `imported_seq` and checkpoints up to `imported_number` came with a capsule: the
    people whom they name are those of another installation. Rows of them say so as `imported`.
    `read_at` is the database's time: what is over or due by then is judged by it, since the clock
    of the process that asks may be another one.
    """

    id: UUID
    workspace: UUID
    name: str | None
    title: str
    agent: str
    version_label: str
    agent_version_id: UUID
    labels: dict[str, str]
    status: Status
    status_since: datetime
    status_reason: str
    version: int
    last_seq: int
    last_at: datetime
    number: int
    step: int
    branch: int
    next_nodes: tuple[str, ...]
    waiting_on: Any
    wake_at: datetime | None
    wish: str
    pause_at: str
    effects: str
    lease_owner: str
    lease_until: datetime | None
    fence: int
    crash_count: int
    head: UUID
    parent: UUID | None
    base: UUID | None
    forked_from: UUID | None
    started_by: str
    rollback: dict[str, Any] | None
    n_steps: int
    tokens: int
    cost: str
    tokens_saved: int
    state_bytes: int
    created_at: datetime
    read_at: datetime = field(compare=False)
    message_channel: str = ""
    imported_seq: int = 0
    imported_number: int = -1
    pinned: bool = False
    wake_seq: int = 0
    integrity: VerificationRow | None = None
    root: UUID | None = None
    depth: int = 0
    external: External | None = None
    stuck: StuckRow | None = None
    stopped: StoppedRow | None = None
    erased: ErasedRow | None = None
    durability: Durability = DURABLE

    @property
    def is_ephemeral(self) -> bool:
        """Answer True if nothing of it is kept but its row, the begin and the end of its turns."""
        return self.durability == EPHEMERAL

    @property
    def not_kept(self) -> str:
        """The sentence that stands in the place of its history; empty of a thread that has one."""
        return NOT_KEPT if self.is_ephemeral else ""

    @property
    def damage(self) -> VerificationRow | None:
        """The verification that found damage; None as long as none did."""
        result = self.integrity
        return None if result is None or result.intact else result

    @property
    def live(self) -> bool:
        """Answer True if anything can still happen by itself or by a decision."""
        return self.status in LIVE

    @property
    def totals(self) -> dict[str, Any]:
        """Sums over the whole thread."""
        return {
            "steps": self.n_steps,
            "tokens": self.tokens,
            "cost": self.cost,
            "saved_tokens": self.tokens_saved,
            "bytes": self.state_bytes,
        }


@dataclass(frozen=True, slots=True)
class CheckpointRow:
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
    nodes: tuple[str, ...]
    next_nodes: tuple[str, ...]
    delta: Annotated[dict[str, Any], Field(exclude=True)]
    state_hash: str
    state_bytes: int
    schema_version: int
    agent_version_id: UUID
    created_by: str
    created_at: datetime
    abandoned: bool = False
    imported: Annotated[bool, Field(description=ELSEWHERE)] = False


@dataclass(frozen=True, slots=True)
class StepTakenRow:
    """A finished step: the checkpoint it ended with."""

    number: int
    step: int
    source: str
    nodes: tuple[str, ...]
    next_nodes: Annotated[tuple[str, ...], Field(exclude=True)]
    at: datetime
    thread: UUID


@dataclass(frozen=True, slots=True)
class EventRow:
    """An entry of a thread's log."""

    thread: Annotated[UUID, Field(exclude=True)]
    seq: int
    kind: str
    actor: str
    data: dict[str, Any]
    at: datetime
    hash: str
    prev_hash: str
    imported: Annotated[bool, Field(description=ELSEWHERE)] = False
    untrusted: Annotated[
        bool, Field(description="the record is damaged at or before it: do not rely on it")
    ] = False


@dataclass(frozen=True, slots=True)
class InputRow:
    """A message that was received and not taken yet; `seq` is the number of its event."""

    seq: int
    message: Any
    actor: str
    at: datetime
    imported: Annotated[bool, Field(description=ELSEWHERE)] = False


@dataclass(frozen=True, slots=True)
class SignalRow:
    """A signal that was received and not taken yet; `seq` is the number of its event."""

    seq: int
    name: str
    value: Any
    actor: str
    at: datetime
    imported: Annotated[bool, Field(description=ELSEWHERE)] = False


@dataclass(frozen=True, slots=True)
class WorkspaceEventRow:
    """An entry of a workspace's own log."""

    workspace: UUID
    seq: int
    kind: str
    actor: str
    data: dict[str, Any]
    at: datetime
    hash: str
    prev_hash: str


@dataclass(frozen=True, slots=True)
class ActivityRow:
    """Something that happened once."""

    id: UUID
    thread: Annotated[UUID, Field(exclude=True)]
    branch: int
    step: int
    node: str
    index: int
    key: str
    kind: str
    tool: str
    state: str
    args: Any
    result: Annotated[
        Any,
        Field(
            description='a part that JSON cannot hold exactly stands as `{"$exact": {kind: text}}`'
        ),
    ]
    error: str
    attempts: int
    idempotency_key: str
    progress: Any
    usage: Any
    undo: str
    undo_result: Any
    revision: Annotated[int, Field(exclude=True)]
    approval: Annotated[
        UUID | None, Field(description="the request under which it was carried out")
    ]
    started_at: datetime
    finished_at: datetime | None
    cursor: Annotated[Any, Field(description="where an unfinished call would continue")] = None
    # Beside a cursor only: who continues from it hashes with the same.
    salt: Annotated[bytes | None, Field(exclude=True)] = None

    @computed_field(  # type: ignore[prop-decorator]
        description="how its tool describes the call; empty where it does not"
    )
    @property
    def sentence(self) -> str:
        """The tool's description of this effect; empty where it gave none."""
        used = self.usage if isinstance(self.usage, dict) else {}
        return str(used.get("sentence") or "")


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    """A file by its content hash."""

    sha256: str
    name: str
    media_type: str
    size: int
    path: str


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One agent version as a worker announced it."""

    id: UUID
    agent: str
    version: int
    fingerprint: str
    label: str
    description: str
    schema_version: int
    schema: Annotated[dict[str, Any], Field(description="JSON Schema of the state")]
    channels: dict[str, Any]
    graph: dict[str, Any]
    tools: dict[str, Any]
    queue: str
    created_at: datetime
    durability: Annotated[
        Durability, Field(description="What is kept of its threads; ephemeral: no state, no steps")
    ] = DURABLE
    ttl: Annotated[
        int | None,
        Field(description="Seconds that the state of an ephemeral thread stays in memory"),
    ] = None
    acknowledge: Annotated[
        Acknowledge | None,
        Field(
            description="Where a step of a hot agent is when it counts as acknowledged: on the "
            "disk of the hot store (buffered), in PostgreSQL (durable), in a hot store that "
            "flushes once a second (everysec); null of others"
        ),
    ] = None
    live_workers: int = 0

    @property
    def external(self) -> External | None:
        """Facts of an agent that works elsewhere; None for an agent that runs here."""
        return External.of(self.graph.get("external"))


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker process group and when it last gave a sign of life."""

    id: str
    host: str
    pid: int
    slots: int
    queues: tuple[str, ...]
    agents: tuple[str, ...]
    started_at: datetime
    seen_at: datetime
    alive: bool
    stopped: bool = True  # by itself, in good order


@dataclass(frozen=True, slots=True)
class StorageRow:
    """Space that a thread's own past takes.

    `bytes` is close, the counts are exact; of more than 200 activities the count is close too.
    Files in a storage that does not answer are not counted.
    """

    events: int
    checkpoints: int
    activities: int
    keyframes: Annotated[int, Field(exclude=True)]
    bytes: int
    # Whether `bytes` was added up over all rows, not over a sample of them.
    sampled_all: Annotated[bool, Field(exclude=True)]
    contents: Annotated[int, Field(description="large values, each kept once")] = 0
    file_bytes: Annotated[int, Field(exclude=True)] = 0
    files_away: Annotated[bool, Field(exclude=True)] = False


@dataclass(frozen=True, slots=True)
class OwedFolder:
    """The duty to write a thread's folder, as somebody has taken it; `by` tells claims apart."""

    thread: UUID
    workspace: UUID
    by: str


@dataclass(frozen=True, slots=True)
class SavedRow:
    """Work that was not done again after faults, which a restart from the input would have done.

    `resumes` are the faults after which something recorded was there, `calls` those of activities,
    effects and models together, `milliseconds` what they took, `cost` in dollars: that of all
    but `unpriced_calls`, which a model without a known price answered.
    """

    resumes: int
    calls: int
    model_calls: int
    tokens: int
    cost: str
    milliseconds: int
    unpriced_calls: int = 0


@dataclass(frozen=True, slots=True)
class EffectFate:
    """The fate of an effect in a rollback: undoable, stays or unknown."""

    activity: ActivityRow
    fate: str
    text: str


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """The reason for a thread's current status."""

    kind: str
    sentence: str
    since: datetime
    action: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


# Where counting stops what is before a thread in its queue.
QUEUE_COUNTED = 1_000


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """The threads before a queued one; both counts end at `QUEUE_COUNTED`.

    `before` threads of its own workspace precede it. Up to `turns` threads of others are taken
    in between; they belong to `workspaces`.
    """

    queue: str
    before: int
    turns: int
    workspaces: int


@dataclass(frozen=True, slots=True)
class Awaited:
    """The children that a thread waits for: in all, not ended, succeeded; statuses of the open.

    `held` of them begin when others end.
    """

    n: int = 0
    open: int = 0
    succeeded: int = 0
    statuses: dict[Status, int] = field(default_factory=dict)
    held: int = 0


@dataclass(frozen=True, slots=True)
class HeadRow:
    """The head of a log (`of` a thread or a workspace): its chain, an event's number and hash."""

    of: str
    ident: UUID
    chain: UUID
    seq: int
    hash: str

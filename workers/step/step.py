"""What the engine holds: the installed agent, the heartbeat, one step in progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Protocol
from uuid import UUID

from approvals.queries import ApprovalRow
from checkpoints.encryption.thread_state import ThreadState
from checkpoints.log.traces import TraceContext
from checkpoints.records import Position, Work
from checkpoints.states import EventKind
from checkpoints.store import NewEvent
from checkpoints.views import ActivityRow

from ..authoring.frozen import FrozenDict
from ..authoring.graph import Graph, Tool
from ..authoring.language_models import Model, missing
from ..authoring.retry_policy import Retry
from .answers import answered
from .ledger import Ledger
from .results import value_of
from .secret_values import masked, refuse_secrets
from .swallowed_stops import RaisedStops

EVENTS_BUFFERED = 50


class Heartbeat(Protocol):
    """Keeps the lease alive; `check` raises LeaseLost once it cannot be trusted."""

    def check(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Agent:
    """An installed agent: graph, tools by name, its version row, and the model that it asks.

    `code` is what its version consists of; `same` are other versions of the same code.
    """

    graph: Graph
    tools: dict[str, Tool]
    version_id: UUID
    fingerprint: str
    model: Model = missing
    code: Mapping[str, Any] | None = None
    same: tuple[UUID, ...] = ()

    @property
    def versions(self) -> tuple[UUID, ...]:
        """All versions whose threads it takes as its own."""
        return (self.version_id, *self.same)


@dataclass
class OpenStep:
    """One step in progress: what is recorded of it, and what waits to be written.

    `requests` are all of the step's, `decided` the newest one of each position.
    """

    work: Work
    number: int
    ledger: Ledger
    heartbeat: Heartbeat
    stopping: Callable[[], bool]
    model: Model = missing
    prompts: Mapping[str, str] = field(default_factory=dict)
    retry: Retry | None = None
    records: dict[Position, ActivityRow] = field(default_factory=dict)
    left_open: list[ActivityRow] = field(default_factory=list)  # effects of earlier steps
    requests: dict[UUID, ApprovalRow] = field(default_factory=dict)
    decided: dict[Position, ApprovalRow] = field(default_factory=dict)
    resumed: bool = False
    thoughts: dict[str, list[str]] = field(default_factory=dict)
    suggested_title: str = ""
    buffer: list[NewEvent] = field(default_factory=list)
    secrets: set[str] = field(default_factory=set)  # read by its calls
    secrets_allowed: Mapping[str, str] = field(default_factory=dict)  # {path: reason} of the agent
    on_failure: str = "keep"
    handed: list[dict[str, Any]] = field(default_factory=list)  # over, by nodes at work
    signals: dict[int, Position] = field(default_factory=dict)  # {number of its event: its wait}
    woken: int = 0  # wake_seq before its requests were read
    encrypted: ThreadState = field(default_factory=ThreadState)
    stops: RaisedStops = field(default_factory=RaisedStops)

    def look(self) -> None:
        """Read what is recorded and requested of the step."""
        rows, here = self.ledger.recorded(self.work, self.number), (self.work.branch, self.number)
        self.records = answered([row for row in rows if (row.branch, row.step) == here])
        self.left_open = [row for row in rows if (row.branch, row.step) != here]
        for a in self.ledger.approvals(self.work, self.number):
            if not a.gate and a.kind != "question":
                continue  # what people want to do to the thread is no concern of its nodes
            self.requests[a.id] = a
            self.decided[Position(a.branch, a.step, a.node, a.index, a.key)] = a

    @cached_property
    def config(self) -> FrozenDict:
        """The thread's configuration, read when a node first asks for it."""
        return FrozenDict(self.ledger.config(self.work), "ctx.config")

    @cached_property
    def elsewhere(self) -> list[ActivityRow]:
        """Pure results of this step as it was taken before, read when one is first looked for."""
        return self.ledger.reusable(self.work, self.number)

    @cached_property
    def known_thoughts(self) -> set[tuple[str, int]]:
        """(node, ordinal) of what former attempts thought, read at this one's first thought."""
        return self.ledger.thoughts(self.work, self.number) if self.resumed else set()

    @cached_property
    def branches_to_head(self) -> tuple[list[tuple[UUID, int, int]], dict[UUID, int]]:
        """The way to the head, read when an effect might repeat what was left beside it."""
        return self.ledger.branches_to_head(self.work)

    @cached_property
    def trace(self) -> TraceContext:
        """The trace of the thread's family tree, read when a call first asks for it."""
        return self.ledger.trace(self.work)

    @property
    def begun(self) -> bool:
        """Answer True if a record here is valid only for the state that the step began with."""
        return any(a.status != "withdrawn" for a in self.decided.values()) or any(
            a.state == "done" or a.kind == "effect" for a in self.records.values()
        )

    def record_at(self, position: Position) -> ActivityRow | None:
        """The activity at a position, newest revision."""
        return self.records.get(position)

    def revision(self, position: Position, *, same: bool) -> int:
        """The revision that a new call at a recorded position gets."""
        known = self.records.get(position)
        return 0 if known is None else known.revision + (0 if same else 1)

    def approval_at(self, position: Position) -> ApprovalRow | None:
        """The request at a position, newest revision."""
        return self.decided.get(position)

    def value_of(self, result: Any, name: str) -> Any:
        """The value of a recorded result; raises StepFailed where its file is not there."""
        return value_of(result, name, partial(self.ledger.open_artifact, self.work))

    def refuse_secrets(self, value: Any, what: str, *, of: str = "") -> None:
        """Raise StepFailed for new data with a secret; `of` names the call that they belong to."""
        refuse_secrets(value, what, self.secrets, self.secrets_allowed, of)

    def masked(self, text: str) -> str:
        """A text about what failed, without secrets and without values of encrypted channels."""
        return masked(self.encrypted.masked(text), self.secrets)

    def add_event(self, event: NewEvent) -> None:
        """Write an event together with the next record or commit."""
        self.buffer.append(event)

    def think(self, node: str, ordinal: int, data: dict[str, Any]) -> None:
        """Buffer a thought unless a former attempt at this step has recorded it."""
        self.thoughts.setdefault(node, []).append(data["text"])
        if (node, ordinal) not in self.known_thoughts:
            self.refuse_secrets(data, "This thought")
            self.known_thoughts.add((node, ordinal))
            self.add_event(NewEvent(EventKind.THOUGHT_RECORDED, data, self.work.owner))

    def thoughts_of(self, node: str) -> tuple[str, ...]:
        """The node's thoughts in this step."""
        return tuple(self.thoughts.get(node, ()))

    @property
    def title(self) -> str:
        """The title that the step's commit leaves, unless somebody renames the thread meanwhile."""
        return self.suggested_title or self.work.title

    def suggest_title(self, node: str, title: str) -> None:
        """Buffer a title unless the thread has it already, or has one that somebody gave."""
        if self.work.automatic_title and title != self.title:
            self.suggested_title = title
            data = {"node": node, "title": title}
            self.add_event(NewEvent(EventKind.TITLE_SUGGESTED, data, self.work.owner))

    def take_events(self) -> list[NewEvent]:
        """The buffered events; the caller writes them now."""
        taken, self.buffer = self.buffer, []
        return taken

    def flush_if_many(self) -> None:
        """Do not let one statement grow without bound."""
        if len(self.buffer) >= EVENTS_BUFFERED:
            self.ledger.events(self.work, self.take_events())

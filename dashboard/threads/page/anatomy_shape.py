"""The shape of a checkpoint's anatomy: four layers beside the state."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import Field

from checkpoints.queries.anatomy.rows import CallRow, ThoughtRow
from checkpoints.views import StepTakenRow
from dashboard.documents.state_shape import Shape


class Mission(Shape):
    """Layer 1: what it is about, what is finished, what remains, and why."""

    goal: str = Field(description="the channel `goal` of the state, else the thread's title")
    finished: list[StepTakenRow] = Field(description="the newest 20 steps, oldest first")
    n_earlier: int = Field(description="steps before those")
    next_nodes: list[str] = Field(description="the nodes that work next")
    remaining: list[str] = Field(description="all nodes that can still come, by the graph")
    reasoning: list[ThoughtRow] = Field(description="the newest thoughts, oldest first")
    at_most: int = Field(description="limit of listed thoughts")


class FileInUse(Shape):
    """A file that the state, a result or a cursor refers to."""

    sha256: str
    name: str
    media_type: str
    size: int
    named_by: str = Field(description="`state`, or node and tool of the newest call that names it")


class Tools(Shape):
    """Layer 2: what the tools have brought, so that no call is made again."""

    results: list[CallRow] = Field(
        description="recorded on the way to the checkpoint, newest first"
    )
    since: list[CallRow] = Field(
        description="recorded after it, before the next checkpoint: a resume takes these over"
    )
    files: list[FileInUse]
    at_most: int = Field(description="limit of listed calls")


class ModelUse(Shape):
    """Model calls of one kind among the results."""

    model: str = Field(description="who answered; else who was asked; empty where nobody says")
    temperature: float | None
    system: str = Field(description="the system prompt, up to 4,000 characters")
    calls: int = 0
    tokens: int = 0
    cost: str = Field(default="0", description="in dollars, without `unpriced_calls`")
    unpriced_calls: int = 0


class Model(Shape):
    """Layer 3: the models and what they are given."""

    config: dict[str, Any] = Field(
        description="model, temperature, prompt texts and the like that hold for the thread"
    )
    uses: list[ModelUse] = Field(description="how models were asked on the way, newest first")


class Environment(Shape):
    """Layer 4: with what the checkpoint was written. Empty texts: not recorded then."""

    agent: str
    agent_version: int
    version_label: str
    fingerprint: str = Field(description="sha256 over the agent's code, graph and schema")
    schema_version: int
    packages: dict[str, str] = Field(
        description="what the agent's code imports, as the first worker with this version had it"
    )
    written_by: str
    worker: str = Field(description="who held the lease: host, process and boot")
    host: str
    python: str
    gatepost: str


class MemoryInUse(Shape):
    """A memory that the state refers to: never its text."""

    id: UUID
    revision: int = Field(description="the revision that the state means")
    newest: int | None = Field(
        description="the revision that it has now; null where it is not here"
    )
    kind: str
    gone: str = Field(description="why it is gone; empty while it is there")


class Anatomy(Shape):
    """The records at a checkpoint beside its state."""

    thread: UUID
    checkpoint: UUID
    number: int
    at: datetime
    mission: Mission
    tools: Tools
    model: Model
    environment: Environment
    memories: list[MemoryInUse] = Field(description="what the state refers to, at most 100")

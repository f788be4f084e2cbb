"""What the readers of an anatomy answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class CallRow:
    """A recorded call as the anatomy of a checkpoint tells it; what is too long has its size only.

    `later` was recorded after the checkpoint. `files` are the references in result and cursor.
    `asked_model`, `temperature` and `system` are what a model call asked for.
    """

    id: UUID
    thread: UUID
    branch: int
    step: int
    node: str
    key: str
    kind: str
    tool: str
    state: str
    attempts: int
    error: str
    usage: Any
    started_at: datetime
    finished_at: datetime | None
    later: bool
    result: Any
    result_bytes: int
    cursor: Any
    cursor_bytes: int
    files: list[dict[str, Any]]
    asked_model: str | None
    temperature: float | None
    system: str | None


@dataclass(frozen=True, slots=True)
class ThoughtRow:
    """An event that explains the agent's next step: a thought, a decision."""

    thread: UUID
    seq: int
    kind: str
    at: datetime
    node: str
    step: int
    text: str
    facts: dict[str, Any] | None

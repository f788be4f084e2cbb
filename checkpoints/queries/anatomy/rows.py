"""What the readers of an anatomy answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field


@dataclass(frozen=True, slots=True)
class CallRow:
    """A recorded call. A result or cursor over 4,000 characters is null here and has its size."""

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
    usage: Annotated[Any, Field(exclude=True)]
    started_at: datetime
    finished_at: datetime | None
    # Recorded after the checkpoint.
    later: Annotated[bool, Field(exclude=True)]
    result: Any
    result_bytes: int
    cursor: Annotated[Any, Field(description="where an unfinished call would continue")]
    cursor_bytes: int
    # The references in result and cursor.
    files: Annotated[list[dict[str, Any]], Field(exclude=True)]
    # What a model call asked for.
    asked_model: Annotated[str | None, Field(exclude=True)]
    temperature: Annotated[float | None, Field(exclude=True)]
    system: Annotated[str | None, Field(exclude=True)]


@dataclass(frozen=True, slots=True)
class ThoughtRow:
    """A recorded reason for the agent's next action."""

    thread: UUID
    seq: int
    kind: str
    at: datetime
    node: str
    step: int
    text: str
    facts: dict[str, Any] | None

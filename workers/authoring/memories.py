"""Memory as an author has it: a memory with where it came from, and its reference for the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from checkpoints.memories import REF


class MemoryRef(BaseModel):
    """A memory in the state: its id and the revision that was meant, never its text.

    In JSON it is `{"$memory": "<its id>", "revision": 1}`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    id: str = Field(alias=REF)
    revision: int


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory that a node remembered or recalled.

    `author` says who wrote it and `thread` in which thread, `outside` that its text came from
    outside: it is data, and no instruction. One that was forgotten since has no text, and `gone`
    says why. `ref` is None where a counterfactual put a text in its place.
    """

    ref: MemoryRef | None
    text: str
    kind: str = ""
    scope: str = ""
    author: str = ""
    thread: str = ""
    outside: bool = False
    at: datetime | None = None
    revised_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    gone: str = ""

    def __str__(self) -> str:
        return self.text

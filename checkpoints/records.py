"""What a worker holds while it works on a thread; plain data, no ORM."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final
from uuid import UUID

from gatepost_command import __version__

from .states import Status

SALT_BYTES = 16
# The wish of a breaker: the worker gives the thread back at its next boundary.
STOP: Final = "stop"
CURSOR_BYTES = 1 << 20


@cache
def environment() -> dict[str, str]:
    """The versions of this process, as the event of each lease records them."""
    return {"python": platform.python_version(), "gatepost": __version__}


@dataclass(slots=True)
class Work:
    """A leased thread: the lease and everything a step needs to know of the thread's row.

    `token` is random per lease and guards every write; `fence` is a counter for people.
    The store keeps head, number, step and the wishes up to date after each commit.
    """

    thread: UUID
    workspace: UUID
    owner: str
    token: UUID
    fence: int
    status: Status
    agent: str
    agent_version: UUID
    title: str
    automatic_title: bool
    head: UUID
    number: int
    step: int
    branch: int
    branch_start: int
    next_nodes: tuple[str, ...]
    version: int
    last_seq: int
    wake_seq: int
    wish: str
    wish_by: str
    pause_at: str
    effects: str
    chain_id: UUID
    crash_count: int
    started_by: str
    rollback: dict[str, Any] | None
    # Weight and rows of the deltas since the newest keyframe on the way to the head.
    unfolded: int = 0
    unfolded_rows: int = 0
    # The thread that this one was forked from.
    base: UUID | None = None
    # Its place in its family tree: who started it, the first of all, how far below that one.
    parent: UUID | None = None
    root: UUID | None = None
    depth: int = 0
    # Answers to what was asked together with the lease; the reader that takes them leaves none.
    brought: list[list[tuple[Any, ...]]] = field(default_factory=list, compare=False, repr=False)

    @property
    def has_been_here(self) -> bool:
        """Answer True if the next steps may be repeats: after a fork or a rollback."""
        return self.base is not None or self.branch > 0

    @property
    def is_stopped(self) -> bool:
        """True once its worker has seen that a breaker stops it; `wish_by` names the breaker."""
        return self.wish == STOP


@dataclass(frozen=True, slots=True)
class Position:
    """The position of an activity in the graph; its idempotency key derives from it."""

    branch: int
    step: int
    node: str
    index: int
    key: str


@dataclass(frozen=True, slots=True)
class NewActivity:
    """An activity about to be recorded; JSON values, hashes over canonical bytes.

    The salt is chosen here, so that the writer of the row knows every hash in it beforehand.
    `usage` is what is known when it starts: how a tool describes the call.
    """

    id: UUID
    position: Position
    kind: str
    tool: str
    args: Any
    idempotency_key: str
    undo: str = ""
    approval: UUID | None = None
    revision: int = 0
    attempts: int = 1
    usage: Any = None
    salt: bytes = field(default_factory=lambda: os.urandom(SALT_BYTES))


@dataclass(frozen=True, slots=True)
class Activity:
    """An activity as recorded. `args_hash` is unsalted sha256 of the canonical arguments."""

    id: UUID
    position: Position
    kind: str
    tool: str
    state: str
    args: Any
    result: Any
    error: str
    attempts: int
    revision: int
    idempotency_key: str
    undo: str
    approval: UUID | None
    undo_result: Any
    usage: Any

"""What a thread's log tells of its row beside head, branch and origin."""

from __future__ import annotations

from dataclasses import dataclass, fields
from uuid import UUID

from .. import deltas
from ..states import FINISHED, TRANSITIONS, EventKind, Status
from .events import Event

# What older events did not tell is compared with nothing.
ROW = "th.agent_version_id, th.agent, av.agent, th.title, th.status, th.n_steps"
# Which events end a thread, and as what.
ENDING: dict[str, Status] = {
    event: status
    for moves in TRANSITIONS.values()
    for event, status in moves.items()
    if status in FINISHED and event is not EventKind.STATE_EDITED
}


@dataclass(frozen=True, slots=True)
class Row:
    """Columns of a thread as they stand; `described` is the agent that its version describes."""

    agent_version: UUID
    agent: str
    described: str | None
    title: str
    status: str
    n_steps: int


N_ROW = len(fields(Row))


class Told:
    """The same as the events tell it, followed one by one."""

    def __init__(self) -> None:
        self._version: str | None = None
        self._agent: str | None = None
        self._title: str | None = None
        self._ended: Status | None = None

    def follow(self, event: Event, at_head: UUID | None) -> None:
        """Take over what an event tells; `at_head` is the agent version of the checkpoint there."""
        kind = event.kind
        if self._ended is None:
            self._ended = ENDING.get(kind)
        elif kind in TRANSITIONS[self._ended]:
            # Others leave it ended: a thread that has ended may still be woken.
            status = TRANSITIONS[self._ended][EventKind(kind)]
            self._ended = status if status in FINISHED else None
        if kind == EventKind.THREAD_STARTED:
            told = deltas.decode(event.data)
            self._version, self._agent = told.get("agent_version"), told.get("agent")
            self._title = told.get("title") or told.get("agent")
        elif kind == EventKind.THREAD_FORKED:
            told = deltas.decode(event.data)
            self._version = told.get("agent_version", str(at_head))
        elif kind == EventKind.CODE_CHANGED:
            self._version = deltas.decode(event.data)["to"]

    def differs(self, row: Row, *, n_steps: int) -> str:
        """The first column that is not what was told, in words; "" when all fit."""
        ended = row.status if row.status in FINISHED else None
        wrong = {
            "the thread's agent version": self._version not in (None, str(row.agent_version)),
            "the thread's agent": row.agent != (self._agent or row.described),
            "the thread's title": self._title not in (None, row.title),
            "whether the thread has ended": ended != self._ended,
            "the number of the thread's steps": row.n_steps != n_steps,
        }
        return next((words for words, is_wrong in wrong.items() if is_wrong), "")

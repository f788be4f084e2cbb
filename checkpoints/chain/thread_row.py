"""Compare a thread's row with its log, beside head, branch and origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from ..log import control_columns
from ..state import deltas
from ..states import TRANSITIONS, EventKind, Proof, Status
from ..tables.columns import THREAD
from ..tables.readers import Reader
from .events import Event

# The status after an event, by the status before it; where it may be one of several, all of them.
_AFTER: Final[dict[str, dict[Status, Status]]] = {
    kind: {old: moves[kind] for old, moves in TRANSITIONS.items() if old and kind in moves}
    for kind in EventKind
}
# The columns that an event of a kind tells under their own names.
_COLUMNS_OF: Final[dict[str, list[str]]] = {
    kind: [column for column in control_columns.USUAL if column in kind.fields]
    for kind in EventKind
    if Proof.THREAD in kind.proofs
}
_FIRST_EVENTS: Final = {str(kind): status for kind, status in TRANSITIONS[None].items()}
# News for a thread that waits: they queue it, unless it waits for more than this one.
_NEWS: Final = ("approval.", "decision.", "input.", "signal.received", "thread.woken")
_ASLEEP: Final = frozenset({Status.WAITING, Status.SLEEPING})
_RESTS: Final = _ASLEEP | {Status.ATTENTION}


@dataclass(frozen=True, slots=True)
class Row:
    """Columns of a thread as they stand; `described` is the agent that its version describes."""

    agent_version: UUID
    agent: str
    described: str | None
    title: str
    status: str
    n_steps: int
    name: str | None
    queue: str
    labels: str
    pause_at: str
    effects: str
    parent: UUID | None
    root: UUID | None
    depth: int
    automatic_title: bool
    waiting_on: str | None
    rollback: str | None
    tokens: int
    cost: Decimal


# What older events did not record is compared with nothing.
read_row = Reader(
    Row,
    THREAD,
    alias="th",
    sql={
        "agent_version": "agent_version_id",
        "described": "av.agent",
        "automatic_title": "th.automatic_title = th.title",
    },
    json_as_text=True,
)
N_ROW: Final = len(fields(Row))


class LoggedRow:
    """The same row as the events record it, followed one by one."""

    def __init__(self) -> None:
        self._version: str | None = None
        self._agent: str | None = None
        self._title: str | None = None
        self._statuses: set[Status] = set()
        self._plan: dict[str, Any] = {}
        self._waiting: str | None = None
        self._rests_with: str | None = None  # the same, recorded by the event that let it rest
        # None of a thread whose events do not tell its row; `sums` where they do from its start.
        self._row: dict[str, Any] | None = None
        self._sums = False
        self._tokens, self._cost = 0, Decimal(0)
        self._steps = 0  # of turns that have no checkpoints

    def follow(self, event: Event, at_head: UUID | None) -> None:
        """Take over what an event records; `at_head` is the agent version of its checkpoint."""
        if _moves(self._statuses, event.kind):
            self._rests_with = None
        self._statuses = _followed(self._statuses, event.kind)
        match event.kind:
            case EventKind.THREAD_STARTED:
                payload = deltas.decode(event.data)
                self._version, self._agent = payload.get("agent_version"), payload.get("agent")
                self._title = payload.get("title") or payload.get("agent")
                self._begin(payload)
            case EventKind.THREAD_FORKED:
                payload = deltas.decode(event.data)
                self._version = payload.get("agent_version", str(at_head))
                self._begin(payload)
            case EventKind.THREAD_IMPORTED:
                self._import(deltas.decode(event.data).get("row"))
            case EventKind.CODE_CHANGED:
                payload = deltas.decode(event.data)
                self._version = payload["to"]
            case EventKind.THREAD_RENAMED:
                self._title = deltas.decode(event.data)["title"]
                self._set("automatic_title", False)
            case EventKind.TITLE_SUGGESTED:
                if self._row is not None and self._row["automatic_title"]:
                    self._title = deltas.decode(event.data)["title"]
            case EventKind.PAUSE_REQUESTED:
                self._set("pause_at", deltas.decode(event.data).get("before"))
            case EventKind.ROLLBACK_STARTED:
                self._plan = deltas.decode(event.data)
        for column in _COLUMNS_OF.get(event.kind, ()):
            self._set(column, deltas.decode(event.data).get(column))
        if '"waiting_on"' in event.data:
            self._rests_with = deltas.decode(event.data).get("waiting_on")
            self._waiting = self._rests_with or self._waiting
        if '"steps"' in event.data:
            self._steps += deltas.decode(event.data).get("steps") or 0
        if '"usage"' in event.data:
            self._add(deltas.decode(event.data).get("usage") or {})

    def _begin(self, payload: dict[str, Any]) -> None:
        if "row" in payload:
            self._row = control_columns.USUAL | payload["row"]
            self._title = payload["row"].get("title", self._title)
            self._sums = True
        if "waiting_on" in payload:
            # A child that waits for its turn begins so.
            self._statuses = {Status.WAITING}

    def _import(self, row: dict[str, Any] | None) -> None:
        self._waiting = self._rests_with = None
        if row is None:
            # A former version did not record the row as it was then.
            self._row, self._statuses = None, set(Status)
            return
        self._row = control_columns.USUAL | row
        self._title, self._statuses = row["title"], {Status(row["status"])}

    def _set(self, column: str, value: Any) -> None:
        if self._row is not None and value is not None:
            self._row[column] = value

    def _add(self, usage: dict[str, Any]) -> None:
        self._tokens += usage.get("tokens", 0)
        if "cost" in usage:
            self._cost += Decimal(str(usage["cost"]))

    def differs(self, row: Row, *, n_steps: int) -> str:
        """The first column that is not what was recorded, in words; "" when all fit."""
        wrong = {
            "the thread's agent version": self._version not in (None, str(row.agent_version)),
            "the thread's agent": row.agent != (self._agent or row.described),
            "the thread's title": self._title not in (None, row.title),
            "the thread's status": row.status not in self._statuses,
            "the number of the thread's steps": row.n_steps != n_steps + self._steps,
            "the plan of the thread's rollback": self._plan_differs(row),
            **self._steering(row),
        }
        return next((words for words, is_wrong in wrong.items() if is_wrong), "")

    def contradicts(self, exported: Mapping[str, Any]) -> str:
        """Name the first column of a capsule's row that the log contradicts, in words; "" if none.

        Its columns are parameters: text as JSON where the column is JSON.
        """
        logged = self._row or {}
        current = {
            "name": exported["name"],
            "labels": deltas.decode(exported["labels"]),
            **{c: None if exported[c] is None else str(exported[c]) for c in ("parent", "root")},
            "depth": exported["depth"],
        }
        waiting_on = exported["waiting_on"]
        wrong = {
            "title": self._title not in (None, exported["title"]),
            "status": exported["status"] not in self._statuses,
            **{c: logged.get(c, value) != value for c, value in current.items()},
            "waiting_on": bool(self._row)
            and waiting_on is not None
            and control_columns.waiting_hash(deltas.decode(waiting_on)) != self._waiting,
        }
        return next((f"its {column}" for column, is_wrong in wrong.items() if is_wrong), "")

    def _steering(self, row: Row) -> dict[str, bool]:
        """{words: whether it is wrong} of what only later versions record."""
        if self._row is None:
            return {}
        payload, current = self._row, _of(row)
        wrong = {f"the thread's {c}": payload[c] != current[c] for c in control_columns.USUAL}
        if row.waiting_on is not None:
            waits = control_columns.waiting_hash(deltas.decode(row.waiting_on))
            wrong["what the thread waits for"] = waits != self._waiting
        elif row.status in _RESTS:
            wrong["what the thread waits for"] = self._rests_with is not None
        if self._sums:
            wrong["the sum of the thread's tokens"] = row.tokens != self._tokens
            wrong["the sum of the thread's cost"] = row.cost != self._cost
        return wrong

    def _plan_differs(self, row: Row) -> bool:
        if row.rollback is None:
            return row.status == Status.ROLLING_BACK
        plan: dict[str, Any] = deltas.decode(row.rollback)
        return not isinstance(plan, dict) or any(
            name not in self._plan or self._plan[name] != value for name, value in plan.items()
        )


def _of(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "queue": row.queue,
        "labels": deltas.decode(row.labels),
        "pause_at": row.pause_at,
        "effects": row.effects,
        "parent": None if row.parent is None else str(row.parent),
        "root": None if row.root is None else str(row.root),
        "depth": row.depth,
        "automatic_title": row.automatic_title,
    }


def _moves(statuses: set[Status], kind: str) -> bool:
    """Answer True if an event takes a thread out of one of these statuses."""
    # An edit answers what a thread asks, also where it stays in `attention`.
    if kind in _FIRST_EVENTS or kind == EventKind.STATE_EDITED:
        return True
    return not statuses.isdisjoint(_AFTER.get(kind, {}))


def _followed(statuses: set[Status], kind: str) -> set[Status]:
    """The statuses that a thread can have after an event."""
    if kind in _FIRST_EVENTS:
        return {_FIRST_EVENTS[kind]}
    moves = _AFTER.get(kind, {})
    moved = {moves[status] for status in statuses if status in moves}
    if moved:
        return moved
    # Others leave it as it is: a thread that has ended may still be woken.
    if kind.startswith(_NEWS) and statuses & _ASLEEP:
        return statuses | {Status.QUEUED}
    return statuses

"""Effects that had started when a person took their thread away: whether they happened is unknown.

The worker may still be in the middle of one, and what it then learns can no longer be recorded. So
the change that takes the thread away says it: the effect becomes `unknown`, in the same statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from ..log.seals import activity_seal
from ..state import deltas
from ..states import EventKind
from ..tables.columns import ACTIVITY
from .activities import NAMING_V, described
from .statement.moves import Move, NewEvent

# What the event of the change says is the rest of what it seals.
COLUMNS = ACTIVITY.sealed.without("state", "error")


@dataclass(frozen=True, slots=True)
class Underway:
    """An effect that had started: what its row holds, the state aside."""

    row: dict[str, Any]

    @property
    def id(self) -> UUID:
        """The activity's id."""
        result: UUID = self.row["id"]
        return result

    @property
    def tool(self) -> str:
        """The name of its tool."""
        return str(self.row["tool"])

    @property
    def key(self) -> str:
        """Its idempotency key, by which it can be looked for outside."""
        return str(self.row["idempotency_key"])

    @property
    def as_json(self) -> dict[str, Any]:
        """The effect as the event of the change names it."""
        return {"activity": str(self.id), "tool": self.tool, "idempotency_key": self.key}

    def event(self, actor: str, why: str) -> NewEvent:
        """The event that seals the row as `unknown`."""
        sealed = self.row | {"state": "unknown", "error": why}
        data = self.as_json | {n: self.row[n] for n in ("branch", "step", "node", "key")}
        if self.row["index"]:
            data["index"] = self.row["index"]
        if self.row["attempts"] > 1:
            data["attempt"] = self.row["attempts"]
        data |= described(self.row["usage"])
        data |= {"state": "unknown", "error": why, "seal": activity_seal(sealed)}
        return NewEvent(EventKind.EFFECT_FAILED, data, actor, NAMING_V)


def underway(thread: UUID) -> list[Underway]:
    """The thread's effects that have started and not ended, oldest first.

    The caller has locked the thread: until its transaction ends no worker can start or finish one.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {COLUMNS.select()} FROM gp_activity "
            "WHERE thread_id = %s::uuid AND kind = 'effect' AND state = 'started' "
            "ORDER BY started_at, id",
            (thread,),
        )
        rows = [COLUMNS.row(values) for values in cursor.fetchall()]
    for row in rows:
        row["usage"] = None if row["usage"] is None else deltas.decode(row["usage"])
    return [Underway(row) for row in rows]


def mark(move: Move, effects: Sequence[Underway], *, actor: str, why: str) -> None:
    """Let `move`, which takes the thread away, make these effects unknown; its events are set."""
    for effect in effects:
        move.updates.append(
            (
                "UPDATE gp_activity a SET state = 'unknown', error = %s::text, "
                "finished_at = t.last_at FROM t "
                "WHERE a.id = %s::uuid AND a.thread_id = t.id AND a.state = 'started'",
                (why, effect.id),
            )
        )
    move.events = [*(effect.event(actor, why) for effect in effects), *move.events]


def as_json(effects: Sequence[Underway]) -> dict[str, Any]:
    """The effects as the event of the change records them; {} where there are none."""
    return {"unknown": [effect.as_json for effect in effects]} if effects else {}


def sentence(tools: Sequence[str]) -> str:
    """Describe effects that had started, for people; "" where there are none."""
    names = list(dict.fromkeys(tools))
    if not names:
        return ""
    text, they = " and ".join(names), "they" if len(tools) > 1 else "it"
    return f"{text} had started; whether {they} happened is unknown."

"""What a condition would have matched: past requests and recorded effects of a workspace."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from django.db import connection

from checkpoints.state import deltas

from .conditions import Unanswered, condition
from .matches import Facts, values_of

PAST: Final = 500
# Effects lie among all activities; so many of the newest are looked through for them.
ACTIVITIES: Final = 20_000
SECONDS_MAX: Final = 5.0

_FACTS = "th.agent, th.title, th.cost::text, th.labels::text, th.started_by"
_REQUESTS = f"""
SELECT a.id, a.thread_id, a.tool, a.args::text, a.risk, a.requested_at, a.kind, a.title,
  coalesce(nullif(a.outcome, ''), a.status), {_FACTS}
FROM (SELECT * FROM gp_approval WHERE workspace_id = %(workspace)s::uuid
  ORDER BY requested_at DESC, id DESC LIMIT %(limit)s) a
JOIN gp_thread th ON th.id = a.thread_id WHERE a.kind IN ('gate', 'repeat', 'operation')
ORDER BY a.requested_at DESC, a.id DESC
"""
# What had a request is among the requests already.
_EFFECTS = f"""
SELECT NULL, x.thread_id, x.tool, x.args::text, '', x.started_at, 'effect', x.tool, x.state,
  {_FACTS}
FROM (SELECT * FROM gp_activity ORDER BY id DESC LIMIT %(activities)s) x
JOIN gp_thread th ON th.id = x.thread_id WHERE x.workspace_id = %(workspace)s::uuid
  AND x.kind = 'effect' AND x.approval_id IS NULL
ORDER BY x.id DESC LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class Past:
    """One past action that a condition matches; `problem`: it has no answer, so it counts as met.

    `approval` is None for an effect that nobody was asked about.
    """

    approval: UUID | None
    thread: UUID
    thread_title: str
    kind: Literal["gate", "repeat", "operation", "effect"]
    tool: str
    title: str
    outcome: str
    at: datetime
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Tried:
    """`looked_at` of `there` past actions were tried; what matched, newest first."""

    looked_at: int
    there: int
    matched: tuple[Past, ...]


def against_the_past(
    workspace: UUID, text: str, *, action: str = "ask", limit: int = PAST
) -> Tried:
    """Try a condition that need not be saved; raises InvalidValue where it cannot be read.

    Whether another policy would have been first is not looked at. `cost` is what the thread has
    spent by now. Stops after SECONDS_MAX, and `looked_at` says how far it came.
    """
    asked = condition(text)
    until = time.monotonic() + SECONDS_MAX
    place = {"workspace": workspace, "limit": limit, "activities": ACTIVITIES}
    rows = [*_rows(_REQUESTS, place), *_rows(_EFFECTS, place)]
    rows.sort(key=lambda row: row[5], reverse=True)
    looked_at, matched = 0, []
    for row in rows:
        if time.monotonic() > until:
            break
        looked_at += 1
        facts = _facts(workspace, row)
        if asked.operations != bool(facts.operation):
            continue
        try:
            holds, problem = asked.holds(values_of(facts)), ""
        except Unanswered as error:
            holds, problem = action == "ask", str(error)
        if holds:
            matched.append(_past(row, problem))
    return Tried(looked_at, len(rows), tuple(matched))


def _facts(workspace: UUID, row: tuple[Any, ...]) -> Facts:
    args, labels = deltas.decode(row[3]), deltas.decode(row[12])
    operation: Any = ""
    if row[6] == "operation":
        operation = {"settle": "retry", "choose_code": "fork"}.get(row[2], row[2])
        args = args.get("arguments", args)
    return Facts(
        workspace=workspace,
        thread=row[1],
        agent=row[9],
        tool=row[2],
        args=args,
        risk=row[4],
        cost=row[11],
        labels=labels,
        operation=operation,
        started_by=row[13],
    )


def _past(row: tuple[Any, ...], problem: str) -> Past:
    return Past(
        approval=row[0],
        thread=row[1],
        thread_title=row[10],
        kind=row[6],
        tool=row[2],
        title=row[7],
        outcome=row[8],
        at=row[5],
        problem=problem,
    )


def _rows(sql: str, params: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())

"""What a condition would have matched: past requests and recorded effects of a workspace."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import Field

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.state import deltas

from .conditions import Unanswered, claims, condition
from .matches import Facts, values_of
from .surprises import warnings

PAST: Final = 500
SECONDS_MAX: Final = 5.0

_FACTS = "th.agent, th.title AS thread_title, th.cost::text, th.labels::text, th.started_by"
_REQUESTS = f"""
SELECT a.id AS approval, a.thread_id AS thread, a.tool, a.undo, a.args::text, a.risk,
  a.requested_at AS at, a.kind, a.title, coalesce(nullif(a.outcome, ''), a.status) AS outcome,
  CASE WHEN a.kind = 'gate' AND a.tool = '' THEN a.node ELSE '' END AS node, {_FACTS}
FROM (SELECT * FROM gp_approval WHERE workspace_id = %(workspace)s::uuid
  AND kind IN ('gate', 'repeat', 'operation')
  ORDER BY requested_at DESC, id DESC LIMIT %(limit)s) a
JOIN gp_thread th ON th.id = a.thread_id ORDER BY a.requested_at DESC, a.id DESC
"""
# What had a request is among the requests already. By the database's time (index
# gp_activity_effects): an id begins with the time of a worker, which may be days off.
_EFFECTS = f"""
SELECT NULL AS approval, x.thread_id AS thread, x.tool, x.undo, x.args::text, '' AS risk,
  x.started_at AS at, 'effect' AS kind, x.tool AS title, x.state AS outcome, '' AS node, {_FACTS}
FROM (SELECT * FROM gp_activity WHERE workspace_id = %(workspace)s::uuid
  AND kind = 'effect' AND approval_id IS NULL
  ORDER BY started_at DESC, id DESC LIMIT %(limit)s) x
JOIN gp_thread th ON th.id = x.thread_id ORDER BY x.started_at DESC, x.id DESC
"""


# Also of the versions of a policy.
WARNINGS = "What the condition does that its author may not expect, such as 7 / 2 being 3."


@dataclass(frozen=True, slots=True)
class Past:
    """A past action that matches; `problem`: the condition has no answer, so it counts as met."""

    # None for an effect that nobody was asked about.
    approval: UUID | None
    thread: UUID
    thread_title: str
    kind: Literal["gate", "repeat", "operation", "effect"]
    tool: str
    title: str
    outcome: str
    at: datetime
    # With a policy that blocks, people are asked about such an action.
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TriedRow:
    """Past actions that a condition would have matched; `looked_at` of `there` were tried.

    All actions after `since` were tried; null: all on record.
    """

    looked_at: int
    there: int
    since: datetime | None
    matched: tuple[Past, ...]
    claims: Annotated[
        tuple[str, ...],
        Field(
            description="Facts in the condition that the controlled party writes itself; `allow` "
            "is refused with one."
        ),
    ] = ()
    warnings: Annotated[tuple[str, ...], Field(description=WARNINGS)] = ()


def against_the_past(
    workspace: UUID, text: str, *, action: str = "ask", limit: int = PAST
) -> TriedRow:
    """Try a condition that need not be saved; raises InvalidValue where it cannot be read.

    Whether another policy would have been first is not looked at. `cost` is what the thread has
    spent by now. Tries the newest `limit` requests and effects; stops after SECONDS_MAX.
    """
    request = condition(text)
    until = time.monotonic() + SECONDS_MAX
    params = {"workspace": workspace, "limit": limit + 1}  # one more: whether there are more
    both = [fetch_named(sql, params) for sql in (_REQUESTS, _EFFECTS)]
    ends = [rows[limit - 1].at for rows in both if len(rows) > limit]
    rows = [row for some in both for row in some[:limit]]
    rows.sort(key=lambda row: row.at, reverse=True)
    looked_at, matched = 0, []
    for row in rows:
        if time.monotonic() > until:
            ends.append(rows[looked_at - 1].at if looked_at else row.at)
            break
        looked_at += 1
        facts = _facts(workspace, row)
        if request.subject != facts.subject:
            continue
        try:
            holds, problem = request.holds(values_of(facts)), ""
        except Unanswered as error:
            holds, problem = action != "allow", str(error)
        if holds:
            matched.append(_past(row, problem))
    since = max(ends, default=None)
    return TriedRow(looked_at, len(rows), since, tuple(matched), claims(text), warnings(text))


def _facts(workspace: UUID, row: Any) -> Facts:
    args = deltas.decode(row.args)
    operation: Any = ""
    if row.kind == "operation":
        operation = {"settle": "retry", "choose_code": "fork"}.get(row.tool, row.tool)
        args = args.get("arguments", args)
    return Facts(
        workspace=workspace,
        thread=row.thread,
        agent=row.agent,
        tool=row.tool,
        args=args,
        risk=row.risk,
        cost=row.cost,
        labels=deltas.decode(row.labels),
        operation=operation,
        started_by=row.started_by,
        node=row.node,
        undo=row.undo,
    )


def _past(row: Any, problem: str) -> Past:
    return Past(
        approval=row.approval,
        thread=row.thread,
        thread_title=row.thread_title,
        kind=row.kind,
        tool=row.tool,
        title=row.title,
        outcome=row.outcome,
        at=row.at,
        problem=problem,
    )

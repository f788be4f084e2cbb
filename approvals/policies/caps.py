"""Whether a thread may spend more: recorded cost of thread, agent and workspace against caps.

The cap of a thread counts its whole family tree: children spend what their parent has.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db import connection

from checkpoints.postgres import reads as prepared
from checkpoints.queries.overview.figures import COST_OF_TURNS

from . import queries as queries_policies
from .queries import CapRow, money

# Of calls and of turns of ephemeral threads. By the end that the database's clock gave an activity
# (index gp_activity_usage): its id begins with the time of a worker, which may be days off.
_DAY = """
SELECT coalesce(sum(x.cost), 0) FROM (
  SELECT x.thread_id, (x.usage ->> 'cost')::numeric AS cost FROM gp_activity x
  WHERE x.usage ? 'cost' AND x.finished_at >= date_trunc('day', statement_timestamp(), 'UTC')
  AND x.workspace_id = %(workspace)s::uuid
  UNION ALL {turns} AND x.at >= date_trunc('day', statement_timestamp(), 'UTC')
  AND x.workspace_id = %(workspace)s::uuid
) x {join} {where}
"""
_TOTAL = "SELECT coalesce(sum(th.cost), 0) FROM gp_thread th WHERE {where}"
# A thread and all of its family tree: what it starts spends from the same purse.
_ROOT = "(SELECT coalesce(r.root, r.id) FROM gp_thread r WHERE r.id = %(thread)s::uuid)"
IN_TREE: Final = f"(th.id = {_ROOT} OR th.root = {_ROOT})"
# In the reason of each thread that pauses at a cap, and of no other.
AT_CAP: Final = "the spend cap is"
_JOIN: Final = "JOIN gp_thread th ON th.id = x.thread_id"
_SPENT: Final = {
    ("thread", "total"): _TOTAL.format(where=IN_TREE),
    ("agent", "total"): _TOTAL.format(
        where="th.workspace_id = %(workspace)s::uuid AND th.agent = %(agent)s::varchar"
    ),
    ("workspace", "total"): _TOTAL.format(where="th.workspace_id = %(workspace)s::uuid"),
    ("thread", "day"): _DAY.format(turns=COST_OF_TURNS, join=_JOIN, where=f"WHERE {IN_TREE}"),
    ("agent", "day"): _DAY.format(
        turns=COST_OF_TURNS, join=_JOIN, where="WHERE th.agent = %(agent)s::varchar"
    ),
    ("workspace", "day"): _DAY.format(turns=COST_OF_TURNS, join="", where=""),
}


def caps_query(thread: UUID) -> prepared.Query:
    """The query of `spend_refusal`; it can be sent in the same round trip as the lease."""
    return queries_policies.active_caps_asked(thread)


def spend_refusal(
    *, workspace: UUID, thread: UUID, agent: str, rows: Sequence[Any] | None = None
) -> str:
    """Explain why the thread may spend nothing more now, as a sentence; empty while it may.

    A day is one of UTC by the database's clock. The thread's own caps come first, since they are
    the cheapest to look at; without caps it is one query, and none with `rows`, the result of
    `caps_query`.
    """
    caps = [
        cap
        for cap in queries_policies.caps(workspace, active_only=True, rows=rows)
        if cap.agent in ("", agent)
    ]
    params = {"workspace": workspace, "thread": thread, "agent": agent}
    order = ("thread", "agent", "workspace")
    for cap in sorted(caps, key=lambda c: (order.index(c.scope), c.per)):
        spent = spent_of(cap, params)
        if spent >= cap.max_cost:
            return _sentence(cap, subject_of(cap, agent, thread), spent)
    return ""


def spent_of(cap: CapRow, params: dict[str, Any]) -> Decimal:
    """The recorded cost that a cap counts; `params`: workspace, thread, agent."""
    with connection.cursor() as cursor:
        cursor.execute(_SPENT[cap.scope, cap.per], params)
        return Decimal(cursor.fetchone()[0])


def _has_kin(thread: UUID) -> bool:
    """Answer True if a thread has parents or children."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT th.root IS NOT NULL OR EXISTS (SELECT 1 FROM gp_thread c "
            "WHERE c.root = th.id) FROM gp_thread th WHERE th.id = %s::uuid",
            (thread,),
        )
        return bool(cursor.fetchone()[0])


def subject_of(cap: CapRow, agent: str, thread: UUID) -> str:
    """Name those whose spending a cap counts: the subject of a sentence, with its verb."""
    if cap.scope == "thread":
        kin = _has_kin(thread)
        return "This thread, with its family tree, has" if kin else "This thread has"
    who = f"All threads of {agent}" if cap.scope == "agent" else "All threads of the workspace"
    return f"{who} together have"


def _sentence(cap: CapRow, who: str, spent: Decimal) -> str:
    when, wait = (" today (UTC)", " or wait") if cap.per == "day" else ("", "")
    return (
        f"{who} spent {money(spent)}{when}; {AT_CAP} {money(cap.max_cost)}. "
        f"Raise the cap{wait}, then resume."
    )

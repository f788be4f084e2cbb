"""Reserve what a model call may cost before it is made: concurrent calls cannot pass a limit.

Limits are the active spend caps, and the budgets that stop threads. A reservation is one row per
position. It counts while the thread's lease is the one under which it was made and its step is not
committed: with a lost worker it ends as the next one takes the thread, and nothing cleans up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from django.db import connection, transaction

from checkpoints import queries as records
from checkpoints.limits import optional_setting
from checkpoints.queries import BudgetStanding
from checkpoints.records import Position, Work

from . import queries
from .caps import AT_CAP, IN_TREE, spent_of, subject_of
from .queries import CapRow, money

CALL_RESERVE: Final = "0.05"  # what the setting is by default
_OPEN = """
SELECT coalesce(sum(r.cost), 0), coalesce(sum(r.tokens), 0)::bigint FROM gp_spend_reservation r
JOIN gp_thread th ON th.id = r.thread_id AND th.lease_token = r.lease_token AND r.step > th.step
WHERE r.workspace_id = %(workspace)s::uuid
  AND NOT (r.thread_id = %(thread)s::uuid AND r.position = %(position)s::varchar) AND {where}
"""
_WHERE: Final = {
    "thread": IN_TREE,
    "agent": "th.agent = %(name)s::varchar",
    "workspace": "TRUE",
    "team": "th.labels ->> 'team' = %(name)s::text",
}
# Those of former leases and steps go with the next one: they count no more.
_FORGET = """
DELETE FROM gp_spend_reservation r WHERE r.workspace_id = %(workspace)s::uuid AND NOT EXISTS (
  SELECT 1 FROM gp_thread th WHERE th.id = r.thread_id AND th.lease_token = r.lease_token
  AND r.step > th.step)
"""
_RESERVE = """
INSERT INTO gp_spend_reservation
  (thread_id, position, workspace_id, lease_token, step, cost, tokens)
SELECT th.id, %(position)s::varchar, th.workspace_id, th.lease_token, %(step)s::integer,
  %(cost)s::numeric, %(tokens)s::bigint
FROM gp_thread th WHERE th.id = %(thread)s::uuid AND th.lease_token = %(token)s::uuid
ON CONFLICT (thread_id, position) DO UPDATE SET lease_token = EXCLUDED.lease_token,
  cost = EXCLUDED.cost, tokens = EXCLUDED.tokens
"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The most that a call may cost. `cost` None: no bound is known. `unpriced` names a model."""

    cost: Decimal | None = None
    tokens: int = 0
    unpriced: str = ""

    @property
    def amount(self) -> Decimal:
        """The amount to reserve: the bound, else the amount of GATEPOST_CALL_RESERVE."""
        if self.cost is not None:
            return self.cost
        return Decimal(optional_setting("GATEPOST_CALL_RESERVE", CALL_RESERVE))


NO_BOUND: Final = Estimate()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Reason that a call may not be made now. `for_others`: only calls under way leave no room."""

    reason: str
    for_others: bool = False


def reserve(work: Work, position: Position, most: Callable[[], Estimate]) -> Refusal | None:
    """Reserve the cost of a call at a position; None where it may be made.

    1. Without a limit nothing is reserved, and `most` is not asked.
    2. Take the workspace's lock: of two calls the second sees what the first has reserved.
    3. Compare what is recorded, what is reserved and this call with each limit.
    4. Insert the reservation under the thread's lease.
    """
    workspace = work.workspace
    if not (queries.caps(workspace, active_only=True) or records.has_stop_budget(workspace)):
        return None
    estimate = most()
    params: dict[str, Any] = {
        "workspace": workspace,
        "thread": work.thread,
        "agent": work.agent,
        "position": position_key(position),
        "token": work.token,
        "step": position.step,
        "cost": estimate.amount,
        "tokens": estimate.tokens,
    }
    with transaction.atomic(), connection.cursor() as cursor:
        # One at a time in a workspace: two calls would both be let in by the same rest of a cap.
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s::text, 0))", (f"spend {workspace}",)
        )
        refusals = [*_at_caps(work, estimate, params), *_at_budgets(work, estimate, params)]
        if refusals:
            return min(refusals, key=lambda refusal: refusal.for_others)
        cursor.execute(_FORGET, params)
        cursor.execute(_RESERVE, params)
    return None


def release(work: Work, position: Position) -> None:
    """Drop the reservation at a position: the call has ended, and its real cost is on record."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM gp_spend_reservation WHERE thread_id = %s::uuid "
            "AND position = %s::varchar AND lease_token = %s::uuid",
            (work.thread, position_key(position), work.token),
        )


def settle(work: Work, position: Position, cost: Decimal, tokens: int) -> None:
    """Let a reservation hold what its call really took, until that is on record elsewhere.

    It then ends with the lease, as any other.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_spend_reservation SET cost = %s::numeric, tokens = %s::bigint "
            "WHERE thread_id = %s::uuid AND position = %s::varchar AND lease_token = %s::uuid",
            (str(cost), tokens, work.thread, position_key(position), work.token),
        )


def position_key(position: Position) -> str:
    """The position within its thread as a text."""
    p = position
    return f"{p.branch}/{p.step}/{p.node}/{p.index}/{p.key}"[-400:]


def _at_caps(work: Work, estimate: Estimate, params: dict[str, Any]) -> Iterator[Refusal]:
    for cap in queries.caps(work.workspace, active_only=True):
        if cap.agent not in ("", work.agent):
            continue
        if estimate.unpriced:
            yield Refusal(unpriced(estimate, f"a spend cap of {money(cap.max_cost)}"))
            continue
        # Before what is recorded: a call that ends in between is then counted twice, never not.
        reserved, _ = _reserved(cap.scope, work.agent, params)
        spent, amount = spent_of(cap, params), estimate.amount
        if spent + amount > cap.max_cost:
            yield Refusal(_cap_sentence(cap, work, spent, amount))
        elif spent + amount + reserved > cap.max_cost:
            yield Refusal(waiting(f"the spend cap of {money(cap.max_cost)}"), for_others=True)


def _at_budgets(work: Work, estimate: Estimate, params: dict[str, Any]) -> Iterator[Refusal]:
    if not records.has_stop_budget(work.workspace):
        return
    team = str(records.thread(work.thread, workspace=work.workspace).labels.get("team") or "")
    of = {"workspace": "", "agent": work.agent, "team": team}
    reserved = {scope: _reserved(scope, name, params) for scope, name in of.items()}
    for usage in records.budget_standings(work.workspace):
        row = usage.row
        if not row.active or row.at_full != "stop" or row.name != of[row.scope]:
            continue
        if estimate.unpriced and row.max_cost is not None:
            yield Refusal(unpriced(estimate, f"the budget of {row.whose}"))
        elif not _fits(usage, estimate, Decimal(0), 0):
            yield Refusal(
                f"The next call may cost {money(estimate.amount)}, and the budget of {row.whose} "
                "has less left this month (UTC). Raise the budget or wait, then resume."
            )
        elif not _fits(usage, estimate, *reserved[row.scope]):
            yield Refusal(waiting(f"the budget of {row.whose}"), for_others=True)


def _fits(usage: BudgetStanding, estimate: Estimate, cost: Decimal, tokens: int) -> bool:
    """Answer True if the budget holds what is spent, this much more and the call."""
    row = usage.row
    return (row.max_cost is None or usage.cost + cost + estimate.amount <= row.max_cost) and (
        row.max_tokens is None or usage.tokens + tokens + estimate.tokens <= row.max_tokens
    )


def _reserved(scope: str, name: str, params: dict[str, Any]) -> tuple[Decimal, int]:
    """(cost, tokens) that other calls have reserved within a limit."""
    with connection.cursor() as cursor:
        cursor.execute(_OPEN.format(where=_WHERE[scope]), params | {"name": name})
        cost, tokens = cursor.fetchone()
        return Decimal(cost), int(tokens)


def _cap_sentence(cap: CapRow, work: Work, spent: Decimal, amount: Decimal) -> str:
    wait = " or wait" if cap.per == "day" else ""
    return (
        f"{subject_of(cap, work.agent, work.thread)} spent {money(spent)}"
        f"{' today (UTC)' if cap.per == 'day' else ''}, and the next call may cost "
        f"{money(amount)}; {AT_CAP} {money(cap.max_cost)}. Raise the cap{wait}, then resume."
    )


def unpriced(estimate: Estimate, limit: str) -> str:
    """The sentence about a call whose price nobody knows, under a limit."""
    return (
        f"The price of {estimate.unpriced} isn't known, so {limit} can't hold its cost. Name its "
        "prices (?prices=PROVIDER), use another model, or lift the limit, then resume."
    )


def waiting(limit: str) -> str:
    """The sentence about a call that waits until others have ended."""
    return f"Waiting for calls under way: together with this one they may pass {limit}."

"""Bands of budgets: recorded once each when they are reached, in the workspace's log as well.

Spending is read without a lock: a band is reached once, by the first to notice, by a unique row.
A budget that was changed reaches its bands anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints.errors import InvalidValue
from checkpoints.log.recorded import RowChange
from checkpoints.queries.overview import budgets as queries
from checkpoints.queries.overview.budgets import BudgetStanding
from checkpoints.signals import announce_board
from checkpoints.states import WorkspaceEventKind as K

from ..installation import breakers
from ..installation.workspaces import append, lock_workspaces
from ..statement.moves import NewEvent

FULL: Final = max(queries.BANDS)


def reach_bands(usage: BudgetStanding, *, actor: str) -> tuple[int, UUID | None]:
    """Record the bands that are reached and not recorded; (the highest new one or 0, its breaker).

    At 100 per cent of a budget that stops, its breaker is tripped in the same transaction.
    """
    row, highest, breaker = usage.row, 0, None
    for band in queries.BANDS:
        if usage.percent < band or band in usage.reached or not row.active:
            continue
        with transaction.atomic():
            lock_workspaces([row.workspace])
            if queries.budget(row.id, workspace=row.workspace).number != row.number:
                return highest, breaker  # it was changed meanwhile, and is looked at again
            ident: UUID = uuid7()
            key = (row.id, row.number, usage.month.date(), band)
            made = _do(
                "INSERT INTO gp_budget_band (id, budget_id, number, month, band, workspace_id, "
                "tokens, cost) VALUES (%s::uuid, %s::uuid, %s::integer, %s::date, %s::smallint, "
                "%s::uuid, %s::bigint, %s::numeric) ON CONFLICT DO NOTHING",
                (ident, *key, row.workspace, usage.tokens, usage.cost),
            )
            if not made:
                continue
            if band == FULL and row.at_full == "stop":
                breaker = _trip(usage, actor)
                _do(
                    "UPDATE gp_budget_band SET breaker_id = %s::uuid WHERE id = %s::uuid",
                    (breaker, ident),
                )
            data = band_data(usage, band) | {"breaker": breaker and str(breaker)}
            append(
                row.workspace,
                [NewEvent(K.BUDGET_REACHED, data, actor)],
                RowChange({"gp_budget_band": [ident]}),
            )
            announce_board(row.workspace)
        highest = band
    return highest, breaker


def band_data(usage: BudgetStanding, band: int) -> dict[str, Any]:
    """Facts of a band that is reached, for events and news."""
    row = usage.row
    return {
        "budget": str(row.id),
        "scope": row.scope,
        "name": row.name,
        "month": f"{usage.month:%Y-%m}",
        "band": band,
        "tokens": usage.tokens,
        "cost": plain_amount(usage.cost),
        "max_tokens": row.max_tokens,
        "max_cost": None if row.max_cost is None else plain_amount(row.max_cost),
    }


def _trip(usage: BudgetStanding, actor: str) -> UUID | None:
    """The breaker of what the budget covers; None where no more breakers can be open."""
    row = usage.row
    selections: dict[str, dict[str, Any]] = {
        "workspace": {},
        "agent": {"agent": row.name},
        "team": {"labels": {"team": row.name}},
    }
    reason = f"The budget of {row.whose} for {usage.month:%B %Y} is spent."
    try:
        return breakers.trip(row.workspace, selections[row.scope], reason=reason, actor=actor).id
    except InvalidValue:
        return None


def plain_amount(amount: Decimal) -> str:
    """An amount without trailing zeros or exponent."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _do(sql: str, params: Sequence[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)

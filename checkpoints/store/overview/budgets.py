"""The only writer of budgets and of the bands that were reached; the workspace's log has both.

Spending is read without a lock: a band is reached once, by the first to notice, by a unique row.
A budget that was changed reaches its bands anew.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints.errors import InvalidValue
from checkpoints.limits import AGENT_MAX
from checkpoints.log.recorded import RowChange
from checkpoints.models import Budget
from checkpoints.queries.overview import budgets as queries
from checkpoints.queries.overview.budgets import BudgetRow, BudgetStanding
from checkpoints.signals import announce_board
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K

from ..installation import breakers, recorded_rows
from ..installation.workspaces import append, lock_workspaces
from ..statement.moves import NewEvent

SCOPES: Final = ("workspace", "agent", "team")
AT_FULL: Final = ("notify", "stop")
BUDGETS_MAX: Final = 200
TEAM_MAX: Final = 200
TOKENS_MAX: Final = 10**15
MAX_COST: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")
FULL: Final = max(queries.BANDS)


def set_budget(
    workspace: UUID,
    *,
    scope: str,
    name: str = "",
    max_tokens: int | None = None,
    max_cost: str | None = None,
    at_full: str = "notify",
    active: bool = True,
    actor: str,
) -> BudgetRow:
    """Make or change the budget of a workspace, agent or team; raises InvalidValue.

    One that says what stands already is left as it is.
    """
    cost = _checked(scope, name, max_tokens, max_cost, at_full)
    values = {"max_tokens": max_tokens, "max_cost": cost, "at_full": at_full, "active": active}
    with transaction.atomic():
        row = recorded_rows.lock(Budget, workspace, scope=scope, name=name)
        also: dict[str, Any] = {"number": row.number + 1} if row else {}
        if row is None:
            if Budget.objects.filter(workspace_id=workspace).count() >= BUDGETS_MAX:
                raise InvalidValue("name", f"there are {BUDGETS_MAX} budgets already")
            row = Budget(workspace_id=workspace, scope=scope, name=name)
        data = {"scope": scope, "name": name, **values}
        data["max_cost"] = None if cost is None else _plain(cost)
        if recorded_rows.save(row, values, K.BUDGET_CHANGED, actor=actor, data=data, also=also):
            announce_board(workspace)
        return queries.budget(row.id, workspace=workspace)


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
        "cost": _plain(usage.cost),
        "max_tokens": row.max_tokens,
        "max_cost": None if row.max_cost is None else _plain(row.max_cost),
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


def _checked(
    scope: str, name: str, max_tokens: int | None, max_cost: str | None, at_full: str
) -> Decimal | None:
    deltas.check(name, "name")
    if scope not in SCOPES:
        raise InvalidValue("scope", f"must be one of {', '.join(SCOPES)}")
    if at_full not in AT_FULL:
        raise InvalidValue("at_full", f"must be one of {', '.join(AT_FULL)}")
    if (scope == "workspace") != (not name):
        raise InvalidValue("name", "names the agent or team, and is empty for the workspace")
    if len(name) > (AGENT_MAX if scope == "agent" else TEAM_MAX):
        raise InvalidValue("name", "is too long")
    if max_tokens is None and max_cost is None:
        raise InvalidValue("max_cost", "give an amount, a number of tokens, or both")
    if max_tokens is not None and not 0 <= max_tokens <= TOKENS_MAX:
        raise InvalidValue("max_tokens", f"must be from 0 to {TOKENS_MAX:,}")
    if max_cost is None:
        return None
    deltas.check(max_cost, "max_cost")
    if not MAX_COST.fullmatch(max_cost):
        raise InvalidValue(
            "max_cost",
            "must be a decimal such as 25.00: 1 to 12 digits, and up to 6 after the point",
        )
    return Decimal(max_cost)


def _plain(amount: Decimal) -> str:
    """An amount without trailing zeros or exponent."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _do(sql: str, params: Sequence[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)

"""The only writer of budgets; the workspace's log has each change.

It writes by the model, which needs Django's settings: `checkpoints.store` does not import it, since
what an author imports needs none.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from checkpoints.errors import InvalidValue
from checkpoints.limits import AGENT_MAX
from checkpoints.models import Budget
from checkpoints.queries.overview import budgets as queries
from checkpoints.queries.overview.budgets import BudgetRow
from checkpoints.signals import announce_board
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K

from ..installation import recorded_rows
from .budget_bands import plain_amount

SCOPES: Final = ("workspace", "agent", "team")
AT_FULL: Final = ("notify", "stop")
BUDGETS_MAX: Final = 200
TEAM_MAX: Final = 200
TOKENS_MAX: Final = 10**15
MAX_COST: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")


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
        data["max_cost"] = None if cost is None else plain_amount(cost)
        if recorded_rows.save(row, values, K.BUDGET_CHANGED, actor=actor, data=data, also=also):
            announce_board(workspace)
        return queries.budget(row.id, workspace=workspace)


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

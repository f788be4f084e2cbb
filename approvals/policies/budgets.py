"""News of budgets that are spent by 80 or 100 per cent: the sweep announces each band once."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.db import transaction

from checkpoints import queries, store
from checkpoints.postgres.guarded_rows import bound_waits, handle_each
from checkpoints.queries import BudgetStanding

from .. import outbox

KIND: Final = "budget.reached"


def announce_budgets(*, owner: str) -> int:
    """Record the bands that were reached and put them in the outbox; how many news."""
    due = [
        (usage.row.id, None, usage)
        for workspace in queries.budgeted_workspaces()
        for usage in queries.budget_standings(workspace)
        if usage.row.active and usage.band not in (0, *usage.reached)
    ]

    def announce(row: tuple[UUID, UUID | None, BudgetStanding]) -> int:
        *_, usage = row
        with transaction.atomic():
            bound_waits()
            band, breaker = store.reach_bands(usage, actor=owner)
            if not band:
                return 0
            data = store.band_data(usage, band)
            data["breaker"] = str(breaker) if breaker else None
            outbox.add(KIND, workspace=usage.row.workspace, thread=None, data=data)
        return 1

    return handle_each("budgets", due, announce)

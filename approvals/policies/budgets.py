"""News of budgets of which 80 or 100 per cent is spent: the sweep looks, each band is told once."""

from __future__ import annotations

from typing import Final

from django.db import transaction

from checkpoints import queries, store

from .. import outbox

KIND: Final = "budget.reached"


def announce_budgets(*, owner: str) -> int:
    """Record the bands that were reached and put them in the outbox; how many news."""
    n_news = 0
    for workspace in queries.budgeted_workspaces():
        for usage in queries.budget_standings(workspace):
            if not usage.row.active or usage.band in (0, *usage.reached):
                continue
            with transaction.atomic():
                band, breaker = store.reach_bands(usage, actor=owner)
                if not band:
                    continue
                data = store.band_data(usage, band)
                data["breaker"] = str(breaker) if breaker else None
                outbox.tell(KIND, workspace=workspace, thread=None, data=data)
            n_news += 1
    return n_news

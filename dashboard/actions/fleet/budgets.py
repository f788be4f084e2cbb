"""Budgets: an admin says what an agent, a team or the workspace may spend in a month."""

from __future__ import annotations

from checkpoints import queries, store
from checkpoints.limits import AGENT_MAX
from checkpoints.queries import BudgetRow, BudgetStanding
from dashboard.errors import translated
from dashboard.fields.validation import check_text
from dashboard.identity.permissions import Actor, require


@translated()
def set_budget(
    actor: Actor,
    scope: str,
    name: str = "",
    *,
    max_tokens: int | None = None,
    max_cost: str | None = None,
    at_full: str = "notify",
    active: bool = True,
) -> BudgetRow:
    """Make or change the budget of the workspace, an agent or a team, or switch it off."""
    require(actor, "policy")
    check_text("$.name", name, AGENT_MAX)
    return store.set_budget(
        actor.workspace,
        scope=scope,
        name=name.strip(),
        max_tokens=max_tokens,
        max_cost=max_cost,
        at_full=at_full,
        active=active,
        actor=actor.id,
    )


@translated()
def budgets(actor: Actor) -> list[BudgetStanding]:
    """All budgets with what is spent of them this month."""
    require(actor, "read")
    return queries.budget_standings(actor.workspace)

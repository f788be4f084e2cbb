"""Retention rules: admins say how long finished threads stay."""

from __future__ import annotations

from checkpoints import store
from checkpoints.limits import AGENT_MAX
from checkpoints.queries.erasures import rules
from checkpoints.queries.erasures.rules import RuleRow
from checkpoints.store.erasure.rules import check_days
from dashboard.errors import translated
from dashboard.fields.validation import check_text
from dashboard.identity.permissions import Actor, require


@translated()
def preview_retention(actor: Actor, agent: str, days: int) -> int:
    """Count the threads that such a rule would erase now."""
    require(actor, "retention")
    check_text("$.agent", agent, AGENT_MAX)
    check_days(days)
    return rules.count_due(actor.workspace, agent=agent, days=days)


@translated()
def set_retention(actor: Actor, agent: str, days: int, archive: bool, active: bool) -> RuleRow:
    """Set the rule of an agent, or with "" that of all agents without one of their own."""
    require(actor, "retention")
    check_text("$.agent", agent, AGENT_MAX)
    return store.set_retention_rule(
        actor.workspace, agent=agent, days=days, archive=archive, active=active, actor=actor.id
    )


@translated()
def retention_rules(actor: Actor) -> list[RuleRow]:
    """All rules of the workspace, by agent."""
    require(actor, "read")
    return rules.rules(actor.workspace)

"""Rules that the demo's admin makes once: a policy, budgets, mail about trouble."""

from __future__ import annotations

from django.conf import settings

from approvals.policies import queries as policies
from approvals.policies.drafts import Draft
from approvals.rules.terms import Terms
from dashboard.administration import budgets, endpoints, subscriptions
from dashboard.administration.budgets import SetBudget
from dashboard.administration.policies import make_policy

from .cast import Cast
from .scenes import TREASURY

POLICY = "Rollbacks of the treasury need a second person"
CONDITION = f"operation == 'roll_back' && has(labels.team) && labels.team == '{TREASURY}'"
ENDPOINT = "Mail to the demo's people"
TOKENS = 20_000
KINDS = ("thread.failed", "thread.attention", "thread.stuck", "breaker.tripped")


def make_rules(cast: Cast) -> None:
    """Make those that are not there; one that was changed or switched off stays as it is."""
    _policy(cast)
    _budgets(cast)
    _mail(cast)


def _policy(cast: Cast) -> None:
    known = policies.policies(workspace=cast.admin.workspace)
    if POLICY not in {policy.name for policy in known}:
        note = "Made by the demo: somebody else approves what one person wants to undo."
        draft = Draft(POLICY, CONDITION, terms=Terms(four_eyes=True), risk="high", note=note)
        make_policy(cast.admin, draft)


def _budgets(cast: Cast) -> None:
    """Tokens, not money: agents of the demo ask a model only where one answers."""
    if not budgets.standings(cast.admin):
        budgets.SET.run(cast.admin, SetBudget(scope="workspace", max_tokens=10 * TOKENS))
        agent = SetBudget(scope="agent", name="deep-research", max_tokens=TOKENS)
        budgets.SET.run(cast.admin, agent)


def _mail(cast: Cast) -> None:
    """Mail to those who may decide, and to operator and manager about trouble."""
    known = {row.name: row for row in endpoints.list_endpoints(cast.admin).results}
    if ENDPOINT in known or not settings.MAILERS["default"].get("OPTIONS"):
        return
    wanted = endpoints.MakeEndpoint(kind="email", name=ENDPOINT)
    row = endpoints.MAKE.run(cast.admin, wanted)
    for person in (cast.operator, cast.manager):
        if not subscriptions.list_subscriptions(person):
            news = subscriptions.MakeSubscription(endpoint=row.id, kinds=[*KINDS])
            subscriptions.MAKE.run(person, news)

"""Rules on content and money in the admin site: retention, legal holds, budgets; read only."""

from __future__ import annotations

from typing import Any

from django.contrib import admin

from ..addresses import thread_address
from ..models import Budget, Hold, RetentionRule
from ..models.overview import AT_FULL, SCOPES
from .filters import choice, since
from .history import BY_THREAD, BY_WORKSPACE
from .lists import Records
from .paging import Walk

IDS = ("Ids", ("id", "workspace_id"))


@admin.register(RetentionRule)
class RetentionRecords(Records):
    """Days from a thread's end to its erasure; the log has what each rule said before."""

    columns = ("whose", "days", "archive", "active", "set_by", "set_at")
    needs = ("agent",)
    filters = (BY_WORKSPACE,)
    search_exact = ("agent",)
    actors = ("set_by",)
    search_help_text = "Id or its beginning, agent, who set it"
    groups = (
        ("Rule", ("agent", "days", "archive", "active")),
        ("Who", ("set_by", "set_at")),
        IDS,
    )
    refusal = "Retention rules are set under Records, Set a retention rule, by API or command."
    pages = (("Set a retention rule", "admin:retention"),)

    def whose(self, row: Any) -> Any:
        """The agent whose threads go, or all that have no rule of their own."""
        return self.site.cell(row, "agent") if row.agent else "all other agents"

    def name_of(self, row: Any) -> str:
        return str(row.agent or "of all other agents")


@admin.register(Hold)
class HoldRecords(Records):
    """Threads of which nothing is erased: who set each legal hold, why, and who lifted it."""

    columns = ("set_at", "thread_id", "reason", "set_by", "lifted_at", "lifted_by")
    walks = (Walk(("set_at", "id"), ("workspace_id",)), Walk(("id",)))
    filters = (since("set_at"), BY_THREAD, BY_WORKSPACE)
    search_ids = ("id", "thread_id")
    search_text = ("reason",)
    actors = ("set_by", "lifted_by")
    thread_column = "thread_id"
    search_help_text = "Id or its beginning, thread id, words of the reason, who set or lifted it"
    groups = (
        ("Hold", ("thread_id", "reason", "set_by", "set_at")),
        ("Lifted", ("lifted_at", "lifted_by", "lift_reason")),
        IDS,
    )
    refusal = "Legal holds are set and lifted under Erase, on the page of a thread."
    pages = (("Erasures and legal holds", "erasures"),)

    def related(self, row: Any) -> list[tuple[str, str]]:
        return [("Open the thread", thread_address(row.thread_id)), *super().related(row)]


@admin.register(Budget)
class BudgetRecords(Records):
    """Limits of an agent, a team or the workspace in a month, and what happens at 100 %."""

    columns = ("scope", "name", "max_cost", "max_tokens", "at_full", "active", "number")
    filters = (
        choice("scope", SCOPES),
        choice("at_full", AT_FULL, "what happens at 100 %"),
        BY_WORKSPACE,
    )
    search_exact = ("name",)
    search_help_text = "Id or its beginning, name of the agent or team"
    groups = (
        ("Applies to", ("scope", "name")),
        ("Limit", ("max_cost", "max_tokens", "at_full", "active", "number")),
        IDS,
    )
    refusal = "Budgets are set under Overview, Budgets, by API or command."
    pages = (("Budgets, and what is spent this month", "budgets"),)

    def name_of(self, row: Any) -> str:
        return f"of the {row.scope} {row.name}".rstrip()

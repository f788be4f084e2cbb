"""Verbs of `budget`: list, set, off."""

from __future__ import annotations

import argparse
from typing import Any

from checkpoints.queries import BudgetStanding
from dashboard import actions
from dashboard.actions.fleet import budgets
from dashboard.api.fleet.budgets import Budget, BudgetList, budget_now
from dashboard.board.overview.page import budget_line
from dashboard.commands.terminal.console import PersonalCommand, Verb
from dashboard.commands.terminal.tables import Table, table
from dashboard.errors import Missing


def list_budgets(command: PersonalCommand) -> None:
    """All budgets and what is spent of them this month."""
    standings = budgets.budgets(command.actor("read"))
    command.tell(BudgetList(results=[Budget.of(one) for one in standings]), _table(standings))
    if not standings:
        command.say("There is no budget: nobody is told how much is spent.")


def set_budget(command: PersonalCommand) -> None:
    """Make a budget or change the one of this scope and name."""
    o = command.options
    _set(
        command,
        o["scope"],
        o["name"],
        max_cost=o["cost"],
        max_tokens=o["tokens"],
        at_full="stop" if o["stop"] else "notify",
    )


def switch_off(command: PersonalCommand) -> None:
    """Switch a budget off."""
    o, actor = command.options, command.actor("policy")
    known = {(one.row.scope, one.row.name): one.row for one in budgets.budgets(actor)}
    if (row := known.get((o["scope"], o["name"]))) is None:
        raise Missing("There is no such budget; `budget list` shows them.")
    _set(
        command,
        row.scope,
        row.name,
        max_cost=None if row.max_cost is None else f"{row.max_cost:f}",
        max_tokens=row.max_tokens,
        at_full=row.at_full,
        active=False,
    )


def _set(command: PersonalCommand, scope: str, name: str, **values: Any) -> None:
    actor = command.actor("policy")
    row = actions.set_budget(actor, scope, name, **values)
    standings = [one for one in budgets.budgets(actor) if one.row.id == row.id]
    command.tell(budget_now(standings, row.id), _table(standings))


def _table(standings: list[BudgetStanding]) -> Table:
    lines = [budget_line(one) for one in standings]
    return table(
        "",
        ("budget of", "at most", "spent", "%", "month ends at", "at 100 %", "is"),
        (
            (
                line.usage.row.whose,
                line.limit,
                line.spent,
                line.percent,
                line.forecast,
                line.usage.row.at_full,
                "on" if line.usage.row.active else "off",
            )
            for line in lines
        ),
    )


def _whose_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scope", choices=("workspace", "agent", "team"), help="whose spending")
    parser.add_argument("name", nargs="?", default="", help="the agent or the team")


def _set_options(parser: argparse.ArgumentParser) -> None:
    _whose_options(parser)
    parser.add_argument("--cost", metavar="AMOUNT", help="such as 250 or 12.50")
    parser.add_argument("--tokens", type=int, metavar="N")
    parser.add_argument("--stop", action="store_true", help="stop the threads when it is spent")


VERBS = (
    Verb("list", "lists budgets and what is spent of them", list_budgets),
    Verb(
        "set",
        "makes or changes a budget",
        set_budget,
        _set_options,
        "budget set workspace --cost 500\nbudget set team growth --tokens 2000000 --stop",
    ),
    Verb("off", "switches a budget off", switch_off, _whose_options, "budget off team growth"),
)

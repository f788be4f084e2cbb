"""Verbs of `cap`: list, set, off."""

from __future__ import annotations

import argparse

from approvals.policies import queries as queries_policies
from dashboard import actions
from dashboard.api.caps import Cap, CapList
from dashboard.commands.terminal.console import PersonalCommand, Verb
from dashboard.commands.terminal.tables import Table, table
from dashboard.errors import Missing


def list_caps(command: PersonalCommand) -> None:
    """All spend caps, those that are off included."""
    actor = command.actor("read")
    caps = [Cap.of(row) for row in queries_policies.caps(actor.workspace)]
    command.tell(CapList(results=caps), _table(caps))
    if not caps:
        command.say("There is no spend cap: threads may spend without limit.")


def set_cap(command: PersonalCommand) -> None:
    """Make a cap or change the one of this scope, agent and span."""
    o = command.options
    row = actions.set_cap(command.actor("policy"), o["scope"], o["per"], o["max_cost"], o["agent"])
    command.tell(Cap.of(row), _table([Cap.of(row)]))


def switch_off(command: PersonalCommand) -> None:
    """Switch a cap off; threads that it paused go on once they are resumed."""
    o, actor = command.options, command.actor("policy")
    key = (o["scope"], o["agent"], o["per"])
    caps = [Cap.of(row) for row in queries_policies.caps(actor.workspace)]
    known = {(cap.scope, cap.agent, cap.per): cap for cap in caps}
    if key not in known:
        raise Missing("There is no such spend cap; `cap list` shows them.")
    row = actions.set_cap(actor, o["scope"], o["per"], known[key].max_cost, o["agent"], False)
    command.tell(Cap.of(row), _table([Cap.of(row)]))


def _table(caps: list[Cap]) -> Table:
    return table(
        "",
        ("scope", "agent", "per", "at most", "is"),
        (
            (c.scope, c.agent or "each", c.per, c.max_cost, "on" if c.active else "off")
            for c in caps
        ),
    )


def _scope_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scope", choices=("thread", "agent", "workspace"), help="whose spending")
    parser.add_argument("per", choices=("total", "day"))
    parser.add_argument("--agent", default="", help="else the cap holds for each agent")


def _set_options(parser: argparse.ArgumentParser) -> None:
    _scope_arguments(parser)
    parser.add_argument("max_cost", metavar="AMOUNT", help="such as 25 or 0.50")


VERBS = (
    Verb("list", "lists spend caps", list_caps),
    Verb(
        "set",
        "makes or changes a spend cap",
        set_cap,
        _set_options,
        "cap set thread total 5\ncap set agent day 100 --agent market-research",
    ),
    Verb("off", "switches a spend cap off", switch_off, _scope_arguments, "cap off thread total"),
)

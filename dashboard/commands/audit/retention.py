"""Verbs of `retention`: list, set, off."""

from __future__ import annotations

import argparse

from checkpoints.queries.erasures.rules import COUNTED_MAX
from dashboard import actions
from dashboard.actions.erasure import retention
from dashboard.api.erasure.retention import RetentionList, RetentionPreview, RetentionRule
from dashboard.commands.terminal.console import PersonalCommand, Verb, facts
from dashboard.commands.terminal.tables import Table, table
from dashboard.errors import Missing


def list_rules(command: PersonalCommand) -> None:
    """All rules."""
    rows = retention.retention_rules(command.actor("read"))
    shown = [RetentionRule.model_validate(row) for row in rows]
    command.tell(RetentionList(results=shown), _table(shown))


def set_rule(command: PersonalCommand) -> None:
    """Set a rule."""
    o, actor = command.options, command.actor("retention")
    due = actions.preview_retention(actor, o["agent"], o["days"])
    if o["preview"]:
        command.tell(RetentionPreview(due=due), facts("", [("due now", _many(due))]))
        return
    whose = o["agent"] or "all agents without a rule of their own"
    if not command.confirmed(f"Erase threads of {whose} after {o['days']} days: {_many(due)} now?"):
        return
    row = actions.set_retention(actor, o["agent"], o["days"], o["archive"], True)
    made = RetentionRule.model_validate(row)
    command.tell(made, _table([made]))


def switch_off(command: PersonalCommand) -> None:
    """Switch a rule off."""
    o, actor = command.options, command.actor("retention")
    rows = {row.agent: row for row in retention.retention_rules(actor)}
    if o["agent"] not in rows:
        raise Missing("There is no such rule in this workspace.")
    former = rows[o["agent"]]
    row = actions.set_retention(actor, former.agent, former.days, former.archive, False)
    made = RetentionRule.model_validate(row)
    command.tell(made, _table([made]))


def _many(due: int) -> str:
    return f"over {COUNTED_MAX - 1:,} threads" if due >= COUNTED_MAX else f"{due:,} threads"


def _table(shown: list[RetentionRule]) -> Table:
    return table(
        "",
        ("agent", "days after the end", "archive", "is"),
        (
            (
                *(one.agent or "all others", one.days, "yes" if one.archive else "no"),
                "on" if one.active else "off",
            )
            for one in shown
        ),
    )


def _agent_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", default="", help="without it all agents without a rule")


def _set_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("days", type=int, help="days after a thread's end, at least 1")
    _agent_option(parser)
    parser.add_argument("--archive", action="store_true", help="keep a capsule in the file store")
    parser.add_argument("--preview", action="store_true", help="only count what is due by it")
    parser.add_argument("--yes", action="store_true", help="do not ask")


VERBS = (
    Verb("list", "lists retention rules", list_rules),
    Verb(
        "set",
        "sets how long finished threads stay",
        set_rule,
        _set_options,
        "retention set 90 --agent payments --archive",
    ),
    Verb("off", "switches a rule off", switch_off, _agent_option, "retention off --agent payments"),
)

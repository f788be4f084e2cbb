"""Verbs of `deputy`: list, name, remove, hand-over."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from approvals.queries.deputies import DeputyRow
from dashboard import actions
from dashboard.actions.people import deputies
from dashboard.api.fleet.deputies import Deputy, DeputyList
from dashboard.approvals.hand_over import HAND_OVER
from dashboard.errors import Invalid, Missing
from dashboard.fields.typed_values import time_in_utc
from dashboard.kit.command import verb
from dashboard.kit.terminal.console import PersonalCommand, Verb
from dashboard.kit.terminal.tables import Table, table


def list_deputies(command: PersonalCommand) -> None:
    """One's own, and whose deputy one is; with --everybody all."""
    actor = command.actor("read")
    rows = deputies.list_deputies(actor, everybody=command.options["everybody"])
    command.tell(DeputyList(results=[Deputy.of(row) for row in rows]), _table(rows))
    if not rows:
        command.say("There are no deputies.")


def name(command: PersonalCommand) -> None:
    """Name a deputy of one's own, or as an admin of somebody."""
    o, actor = command.options, command.actor("delegate")
    begins = _time("--from", o["begins"]) if o["begins"] else None
    row = actions.name_deputy(
        actor, o["deputy"], begins, _time("--until", o["until"]), o["reason"], o["person"] or ""
    )
    _tell(command, row)


def remove(command: PersonalCommand) -> None:
    """End a deputy's right, or withdraw a request that was handed over."""
    actor = command.actor("delegate")
    _tell(command, actions.remove_deputy(actor, _ident(command.options["id"])))
    command.say("Removed.")


def _time(option: str, text: str) -> datetime:
    try:
        return time_in_utc(text)
    except ValueError:
        raise Invalid(option, "is written 2026-12-01, or 2026-12-01T08:00+01:00") from None


def _ident(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Missing(f"There is no {text} in this workspace.") from None


def _tell(command: PersonalCommand, row: DeputyRow) -> None:
    command.tell(Deputy.of(row), _table([row]))


def _table(rows: Sequence[DeputyRow]) -> Table:
    return table(
        "",
        ("id", "of", "deputy", "from", "until", "reason"),
        (
            (
                str(row.id),
                row.person_name,
                row.deputy_name,
                f"{row.begins:%Y-%m-%d %H:%M}",
                f"{row.ends:%Y-%m-%d %H:%M}" if row.ends else f"decided: {row.title}",
                row.reason,
            )
            for row in rows
        ),
    )


def _list_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--everybody", action="store_true", help="for auditors and admins")


def _reason(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reason", default="", help="for people to read; it is on record")


def _name_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("deputy", metavar="USER", help="who acts")
    parser.add_argument("--until", required=True, metavar="TIME", help="a day or a time, else UTC")
    parser.add_argument("--from", dest="begins", metavar="TIME", help="now unless given")
    parser.add_argument("--person", metavar="USER", help="admins only; else yourself")
    _reason(parser)


def _remove_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID")


VERBS = (
    Verb("list", "lists your deputies, and whose deputy you are", list_deputies, _list_options),
    Verb(
        "name",
        "names a deputy for while you are away",
        name,
        _name_options,
        "deputy name grace --from 2026-12-01 --until 2026-12-15 --reason holiday",
    ),
    Verb(
        "remove",
        "ends a deputy's right, or withdraws a request that was handed over",
        remove,
        _remove_options,
    ),
    verb(
        HAND_OVER,
        lambda command, _who, row, _id: _tell(command, row),
        names={"to": ("to", "USER")},
    ),
)

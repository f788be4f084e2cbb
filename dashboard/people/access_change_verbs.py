"""Verbs of `access`: changes of what people may do, listed, confirmed, refused."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from uuid import UUID

from dashboard.errors import Missing
from dashboard.identity.access_changes import AccessChangeRow
from dashboard.kit.terminal.console import PersonalCommand, Verb
from dashboard.kit.terminal.tables import Table, table
from dashboard.people.access_change_calls import AccessChangeList
from dashboard.people.accounts.access_changes import (
    confirm_access_change,
    list_access_changes,
    refuse_access_change,
)


def list_changes(command: PersonalCommand) -> None:
    """Those that wait, then the newest."""
    rows = list_access_changes(command.actor("access"))
    payload = AccessChangeList(results=rows)
    command.show(payload, _table(rows))
    if not rows:
        command.say("There are none.")


def confirm(command: PersonalCommand) -> None:
    """Carry one out, on record as done on the machine itself."""
    row = confirm_access_change(command.actor("access"), _ident(command))
    command.show(row, _table([row]))


def refuse(command: PersonalCommand) -> None:
    """Let one not happen."""
    row = refuse_access_change(command.actor("access"), _ident(command))
    command.show(row, _table([row]))


def _ident(command: PersonalCommand) -> UUID:
    text = command.options["id"]
    try:
        return UUID(text)
    except ValueError:
        raise Missing(f"There is no {text} in this workspace.") from None


def _table(rows: Sequence[AccessChangeRow]) -> Table:
    return table(
        "",
        ("id", "who", "gets", "asked by", "until", "state", "decided by"),
        (
            (
                str(row.id),
                row.name,
                ", ".join(row.gives),
                row.asked_by,
                f"{row.expires_at:%Y-%m-%d %H:%M}",
                row.state,
                row.decided_by,
            )
            for row in rows
        ),
    )


def _id_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="`access list` shows it")


VERBS = (
    Verb("list", "lists changes of access, those that wait first", list_changes),
    Verb(
        "confirm",
        "carries out a change of access that waits",
        confirm,
        _id_option,
        "access confirm 0197f1c2-6d1e-7a30-9b51-4f0b5a3c2d10 --as admin",
    ),
    Verb("refuse", "lets a change of access not happen", refuse, _id_option),
)

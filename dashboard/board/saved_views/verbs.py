"""Verbs of `view`: list, save, change, remove."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from dashboard.identity.people import people
from dashboard.identity.permissions import Actor
from dashboard.kit.command import verb
from dashboard.kit.terminal.console import PersonalCommand, Verb
from dashboard.kit.terminal.tables import Table, table
from dashboard.models import SavedView as ViewRow

from .surfaces import RECORDS
from .view_actions import CHANGE, REMOVE, SAVE, SavedView, SavedViewList, list_views


def _list(command: PersonalCommand) -> None:
    rows = list_views(command.actor("read"))
    command.show(SavedViewList(results=[SavedView.of(row) for row in rows]), _table(rows))
    if not rows:
        command.say("No view is saved.")


def _show(command: PersonalCommand, _: Actor, row: ViewRow, *__: UUID) -> None:
    command.show(SavedView.of(row), _table([row]))


def _table(rows: Sequence[ViewRow]) -> Table:
    names = people({row.owner for row in rows})
    return table(
        "",
        ("view", "name", "of", "whose", "shared", "address"),
        (
            (
                str(row.id),
                row.name,
                row.surface,
                names.get(row.owner, row.owner),
                "yes" if row.shared else "no",
                row.address,
            )
            for row in rows
        ),
    )


def _records_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--records", action="store_true", help="of the search of the records instead of the board"
    )


def _surface(options: dict[str, Any]) -> dict[str, str]:
    return {"surface": RECORDS} if options["records"] else {}


VERBS: Final = (
    Verb("list", "lists your views and those that others share", _list),
    verb(
        SAVE,
        _show,
        names={"name": ("name",), "address": ("--address", "WORDS")},
        without=("surface",),
        beside=(_records_option, _surface),
    ),
    verb(CHANGE, _show, names={"address": ("--address", "WORDS")}),
    verb(REMOVE, _show),
)

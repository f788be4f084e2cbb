"""Verbs of `view`: list, save, change, remove."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from dashboard.identity.people import people
from dashboard.identity.permissions import Actor
from dashboard.kit.command import listing, verb
from dashboard.kit.terminal.console import PersonalCommand
from dashboard.kit.terminal.tables import Table, table
from dashboard.models import SavedView as ViewRow

from .surfaces import RECORDS
from .view_actions import CHANGE, REMOVE, SAVE, SavedView, all_views


def _show(command: PersonalCommand, _: Actor, row: ViewRow, *__: UUID) -> None:
    view = SavedView.of(row)
    command.show(view, _table([view]))


def _table(rows: Sequence[SavedView]) -> Table:
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
    listing(
        "lists your views and those that others share",
        "read",
        all_views,
        _table,
        empty="No view is saved.",
    ),
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

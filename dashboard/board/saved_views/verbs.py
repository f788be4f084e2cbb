"""Verbs of `view`: list, save, change, remove."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from uuid import UUID

from dashboard.errors import Missing
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor
from dashboard.kit.terminal.console import PersonalCommand, Verb
from dashboard.kit.terminal.tables import Table, table

from . import view_actions
from .calls import SavedView, SavedViewList
from .changes import Choice
from .queries import ViewRow
from .surfaces import BOARD, RECORDS


def list_views(command: PersonalCommand) -> None:
    """One's own and those that others share."""
    rows = view_actions.list_views(command.actor("read"))
    command.show(SavedViewList(results=[SavedView.of(row) for row in rows]), _table(rows))
    if not rows:
        command.say("No view is saved.")


def save(command: PersonalCommand) -> None:
    """Save a page under a name."""
    o = command.options
    choice = Choice(o["name"], o["address"], o["shared"], RECORDS if o["records"] else BOARD)
    _show(command, view_actions.save_view(command.actor("save_view"), choice))


def change(command: PersonalCommand) -> None:
    """Other values; what is not named stays."""
    o, actor = command.options, command.actor("save_view")
    choice = Choice(o["name"], o["address"], o["shared"])
    _show(command, view_actions.change_view(actor, _ident(actor, o["view"]), choice))


def remove(command: PersonalCommand) -> None:
    """Take a view away."""
    actor = command.actor("save_view")
    _show(command, view_actions.remove_view(actor, _ident(actor, command.options["view"])))
    command.say("Removed.")


def _ident(actor: Actor, text: str) -> UUID:
    """The id of a view by its id, or by the name of one's own."""
    for row in view_actions.list_views(actor):
        if text == str(row.id) or (text == row.name and row.owner == actor.person):
            return row.id
    raise Missing("There is no such view; `view list` shows them.")


def _show(command: PersonalCommand, row: ViewRow) -> None:
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


def _values(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--address", metavar="WORDS", help="the part of the page's address after the ?"
    )
    parser.add_argument(
        "--shared",
        action=argparse.BooleanOptionalAction,
        help="whether all of the workspace see it",
    )


def _save_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name")
    parser.add_argument(
        "--records", action="store_true", help="of the search of the records instead of the board"
    )
    _values(parser)


def _named(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("view", metavar="VIEW", help="its id, or the name of one of yours")


def _change_options(parser: argparse.ArgumentParser) -> None:
    _named(parser)
    parser.add_argument("--name")
    _values(parser)


VERBS = (
    Verb("list", "lists your views and those that others share", list_views),
    Verb(
        "save",
        "saves a board, or a question to the record, under a name",
        save,
        _save_options,
        'view save "My failed" --address "status=failed&q=agent:payments"',
    ),
    Verb("change", "changes a view; what is not named stays", change, _change_options),
    Verb("remove", "removes a view", remove, _named),
)

"""Verbs of `workspace`: list, create, rename, second-factor."""

from __future__ import annotations

import argparse

from django.contrib.auth import get_user_model

from checkpoints import store
from dashboard.errors import Missing
from dashboard.identity.administrator import administrator_of
from dashboard.identity.permissions import ROLES, Actor
from dashboard.kit.command import verb
from dashboard.kit.terminal.console import PersonalCommand, Verb, translated
from dashboard.kit.terminal.tables import Table, facts, table
from dashboard.people.rename_workspace import RENAME_WORKSPACE, Workspace
from dashboard.people.second_factor import require_factor, required_factor

ACTOR = "command:workspace"


def list_workspaces(command: PersonalCommand) -> None:
    """The workspaces that the person of --as belongs to, the oldest first."""
    actor = command.actor("read")
    places = actor.places or ((actor.workspace, actor.workspace_name),)
    rows = [Workspace(id=ident, name=name) for ident, name in places]
    command.show(rows, _table(rows))


def create(command: PersonalCommand) -> None:
    """A new workspace with its first admin; by the owner of the machine."""
    o, model = command.options, get_user_model()
    user = model._default_manager.filter(**{model.USERNAME_FIELD: o["admin"]}).first()
    if user is None or not user.is_active:
        raise Missing(f"There is no active user {o['admin']}.")
    with translated():
        workspace = store.create_workspace(o["name"], actor=ACTOR)
        store.grant(workspace, user.pk, "admin", actor=ACTOR)
    row = Workspace(id=workspace, name=o["name"].strip())
    command.show(row, _table([row]))


def _show(command: PersonalCommand, _actor: Actor, row: Workspace) -> None:
    command.show(row, _table([row]))


def second_factor(command: PersonalCommand) -> None:
    """The roles that need a second factor, set where some are named, and who has none yet."""
    actor, words = command.actor("read"), command.options["roles"]
    who = administrator_of(get_user_model()._default_manager.get(pk=actor.user_id))
    if words is None:
        row = required_factor(who)
    else:
        wanted = [] if words == "none" else [word for word in words.split(",") if word]
        row = require_factor(who, wanted)
    command.show(
        row,
        facts(
            "Second factor",
            [
                ("required of", ", ".join(row.roles) or "nobody"),
                ("to be set up by", ", ".join(row.without) or "nobody"),
            ],
        ),
    )


def _table(rows: list[Workspace]) -> Table:
    return table("", ("workspace", "id"), ((row.name, row.id) for row in rows))


def _name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")


def _roles_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "roles",
        metavar="ROLES",
        nargs="?",
        help=f"some of {', '.join(ROLES)}, by commas, or none; left out, it only shows",
    )


def _create_options(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--admin", required=True, metavar="USER", help="who looks after it")


VERBS = (
    Verb("list", "lists the workspaces that the person of --as belongs to", list_workspaces),
    Verb(
        "create",
        "makes a workspace with its first admin",
        create,
        _create_options,
        "workspace create payments --admin ada",
    ),
    Verb(
        "second-factor",
        "shows or sets the roles that need a second factor",
        second_factor,
        _roles_options,
        """
        workspace second-factor --as admin
        workspace second-factor reviewer,admin --as admin
        workspace second-factor none --as admin
        """,
    ),
    verb(RENAME_WORKSPACE, _show, names={"name": ("name", "NAME")}),
)

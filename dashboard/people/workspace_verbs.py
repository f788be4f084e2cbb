"""Verbs of `workspace`: list, create, rename, second-factor."""

from __future__ import annotations

import argparse

from django.contrib.auth import get_user_model

from checkpoints import store
from dashboard.errors import Missing
from dashboard.identity.permissions import Actor
from dashboard.kit.command import verb
from dashboard.kit.terminal.console import PersonalCommand, Verb, translated
from dashboard.kit.terminal.tables import Table, table
from dashboard.people import required_factor
from dashboard.people.rename_workspace import RENAME_WORKSPACE, Workspace

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


def _table(rows: list[Workspace]) -> Table:
    return table("", ("workspace", "id"), ((row.name, row.id) for row in rows))


def _name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")


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
    required_factor.VERB,
    verb(RENAME_WORKSPACE, _show, names={"name": ("name", "NAME")}),
)

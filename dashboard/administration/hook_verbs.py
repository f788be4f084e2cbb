"""Verbs of `hook`: create, list, rotate, enable, disable, map, confirm, unmap."""

from __future__ import annotations

import argparse
from datetime import datetime, timedelta
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from approvals.hooks import changes as known
from approvals.hooks.changes import HookRow, IdentityRow
from dashboard.administration import hooks
from dashboard.errors import Forbidden, Missing
from dashboard.identity import tokens
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor
from dashboard.kit.terminal.console import PersonalCommand, Verb, translated
from dashboard.kit.terminal.tables import Table, facts, table
from dashboard.people.accounts.administration import AUDIT


class Shown(BaseModel):
    """A hook without its secrets; `secrets` is how many hold."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    name: str
    active: bool
    secrets: int
    made_by: str
    created_at: datetime
    rotated_at: datetime | None
    refused_at: datetime | None


class Made(Shown):
    """A hook with a new secret; nobody can show it again."""

    secret: str
    address: str


class Identity(BaseModel):
    """A word of a hook for a person, and whom it stands for."""

    model_config = ConfigDict(from_attributes=True)

    hook_name: str
    identity: str
    user_id: int
    made_by: str
    created_at: datetime
    confirmed_by: str


class Listed(BaseModel):
    """All hooks of the workspace and their words for people."""

    hooks: list[Shown]
    identities: list[Identity]


def create(command: PersonalCommand) -> None:
    """Make a hook; stdout gets its secret and nothing else, so that a script can keep it."""
    row, secret = hooks.create_hook(command.actor("hook"), command.options["name"])
    _tell_secret(command, row, secret)


def rotate(command: PersonalCommand) -> None:
    """Give a hook another secret; the former ones hold a while longer."""
    actor = command.actor("hook")
    row = _hook(actor, command.options["name"])
    words = command.options["keep"]
    keep = timedelta() if words == "0" else tokens.lifetime(words, "--keep") or timedelta(-1)
    secret = hooks.rotate_hook(actor, row.id, keep)
    _tell_secret(command, _hook(actor, row.name), secret)


def enable(command: PersonalCommand) -> None:
    """Let it in again."""
    actor = command.actor("hook")
    _tell(command, hooks.enable_hook(actor, _hook(actor, command.options["name"]).id))


def disable(command: PersonalCommand) -> None:
    """Keep it out."""
    actor = command.actor("hook")
    _tell(command, hooks.disable_hook(actor, _hook(actor, command.options["name"]).id))


def map_(command: PersonalCommand) -> None:
    """Say whom a word stands for."""
    o, actor = command.options, command.actor("hook")
    hook = _hook(actor, o["name"])
    row = hooks.map_identity(actor, hook.id, o["identity"], hooks.user_named(actor, o["user"]))
    command.tell(Identity.model_validate(row), _identities([row]))


def confirm(command: PersonalCommand) -> None:
    """Confirm that a word stands for the person of --as."""
    o, actor = command.options, command.actor("stand_for")
    own = hooks.own_identities(actor)
    words = [one for one in own if (one.hook_name, one.identity) == (o["name"], o["identity"])]
    if not words:
        raise Missing(f"{o['identity']} of the hook {o['name']} stands for somebody else.")
    row = hooks.confirm_identity(actor, words[0].id)
    command.tell(Identity.model_validate(row), _identities([row]))


def unmap(command: PersonalCommand) -> None:
    """A word no longer stands for anybody."""
    o, actor = command.options, command.actor("hook")
    hook = _hook(actor, o["name"])
    hooks.unmap_identity(actor, hook.id, o["identity"])
    _tell(command, hook)


def listing(command: PersonalCommand) -> None:
    """All hooks of the workspace, and the people their names are mapped to."""
    actor = command.actor("hook")
    if command.options["as_user"] and AUDIT.isdisjoint(actor.roles):
        raise Forbidden("Needs the role auditor or admin.")
    rows, words = known.hooks(actor.workspace), known.identities(actor.workspace)
    shown = Listed(
        hooks=[Shown.model_validate(row) for row in rows],
        identities=[Identity.model_validate(one) for one in words],
    )
    command.tell(shown, _hooks(rows), _identities(words))
    if not rows:
        command.say("There are no hooks.")


def _hook(actor: Actor, name: str) -> HookRow:
    with translated():
        return known.named(name, workspace=actor.workspace)


def _tell_secret(command: PersonalCommand, row: HookRow, secret: str) -> None:
    address = hooks.ADDRESS.format(row.id)
    if command.as_json:
        shown = Shown.model_validate(row).model_dump()
        command.tell(Made(**shown, secret=secret, address=address))
        return
    command.stdout.write(secret)
    for name, value in _facts(row):
        command.say(f"{name:<10} {value}")
    command.say(f"{'address':<10} {address}")
    command.say("This is the only time the secret is shown. Give both to the service that sends.")


def _tell(command: PersonalCommand, row: HookRow) -> None:
    command.tell(Shown.model_validate(row), facts(f"Hook {row.name}", _facts(row)))


def _facts(row: HookRow) -> list[tuple[str, object]]:
    return [
        ("id", row.id),
        ("name", row.name),
        ("active", "yes" if row.active else "no"),
        ("secrets", row.secrets),
        ("made", _time(row.created_at)),
    ]


def _hooks(rows: list[HookRow]) -> Table:
    return table(
        "Hooks",
        ("name", "active", "secrets", "made", "rotated", "refused", "id"),
        (
            (
                row.name,
                "yes" if row.active else "no",
                row.secrets,
                _time(row.created_at),
                _time(row.rotated_at) or "never",
                _time(row.refused_at) or "never",
                str(row.id),
            )
            for row in rows
        ),
    )


def _identities(rows: list[IdentityRow]) -> Table:
    names = people(f"user:{row.user_id}" for row in rows)
    return table(
        "Outside identities",
        ("hook", "identity", "stands for", "since", "said by", "confirmed by"),
        (
            (
                row.hook_name,
                row.identity,
                names.get(f"user:{row.user_id}", f"user:{row.user_id}"),
                _time(row.created_at),
                row.made_by,
                row.confirmed_by or "not yet",
            )
            for row in rows
        ),
    )


def _time(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M}" if at else ""


def _name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a-z, 0-9 and -")


def _rotate_options(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    parser.add_argument(
        "--keep", default="24h", metavar="24h", help="how long the former secrets hold; 0: not"
    )


def _identity(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("identity", metavar="IDENTITY", help="the sender's name for a person")


def _map_options(parser: argparse.ArgumentParser) -> None:
    _identity(parser)
    parser.add_argument("user", metavar="USER", help="a member of the workspace")


VERBS = (
    Verb("create", "makes a hook and shows its secret this once", create, _name),
    Verb("list", "lists hooks and the members their names map to", listing),
    Verb(
        "rotate",
        "gives a hook a new secret; old ones stay valid for a while",
        rotate,
        _rotate_options,
        """
        hook rotate slack
        hook rotate slack --keep 0
        """,
    ),
    Verb("enable", "enables a hook", enable, _name),
    Verb("disable", "disables a hook", disable, _name),
    Verb(
        "map",
        "maps a hook's name for a person to a member",
        map_,
        _map_options,
        "hook map slack U024BE7LH manager",
    ),
    Verb(
        "confirm",
        "confirms that a name in a hook is the person of --as",
        confirm,
        _identity,
        "hook confirm slack U024BE7LH --as manager",
    ),
    Verb("unmap", "removes such a mapping", unmap, _identity, "hook unmap slack U024BE7LH"),
)

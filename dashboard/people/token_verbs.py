"""Verbs of `token`: create, list, revoke."""

from __future__ import annotations

import argparse
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from pydantic import BaseModel, ConfigDict

from dashboard.errors import Forbidden, Invalid, Missing
from dashboard.identity import tokens
from dashboard.identity.administrator import administrator_of
from dashboard.identity.permissions import SCOPES
from dashboard.identity.tokens import TokenRow
from dashboard.kit.terminal.console import PersonalCommand, Usage, Verb, person
from dashboard.kit.terminal.tables import Table, facts, table
from gatepost_command import COMMAND


class Shown(BaseModel):
    """A token without its secret; `state` is active, expired or revoked.

    The command lists tokens of all workspaces, the API those of one: here `workspace` names it.
    """

    model_config = ConfigDict(from_attributes=True)

    prefix: str
    name: str
    user: str
    workspace: str
    scopes: list[str]
    state: str
    made_by: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str


class Made(Shown):
    """A new token; nobody can show `token` again."""

    token: str


def create(command: PersonalCommand) -> None:
    """Make a token; stdout gets it and nothing else, so that a script can keep it."""
    o = command.options
    words = settings.GATEPOST_TOKEN_EXPIRES if o["expires"] is None else o["expires"]
    source = "GATEPOST_TOKEN_EXPIRES" if o["expires"] is None else "--expires"
    try:
        row, token = tokens.make(
            _user(o["user"]),
            made_by=_by(command),
            name=o["name"],
            scopes=None if o["scopes"] is None else _words(o["scopes"]),
            expires_in=tokens.lifetime(words, source),
            workspace=o["workspace"],
        )
    except Invalid as error:
        path = error.path if error.path == source else f"--{error.path}"
        raise Usage(path, error.reason) from error
    if command.as_json:
        command.show(Made(**Shown.model_validate(row).model_dump(), token=token))
        return
    command.stdout.write(token)
    for name, value in _facts(row):
        command.say(f"{name:<10} {value}")
    if row.expires_at is None:
        command.say("It never expires: it opens the API until somebody revokes it.")
    command.say(
        "This is the only time it is shown. Send it as `Authorization: Bearer <token>`; "
        f"`{COMMAND} token revoke {row.prefix}` ends it."
    )


def listing(command: PersonalCommand) -> None:
    """All tokens, or those of one user, newest first; for --as no more than the records show."""
    name, viewer = command.options["user"], command.options["as_user"]
    user_id, workspace = _user(name, active=False).pk if name else None, None
    if viewer:
        who = administrator_of(_user(viewer))
        workspace = who.scope
        if not who.may_audit:
            if user_id not in (None, who.actor.user_id):
                raise Forbidden("Needs the role auditor or admin.")
            user_id = who.actor.user_id
    rows = tokens.listed(user_id=user_id, workspace=workspace)
    command.show([Shown.model_validate(row) for row in rows], _table(rows))
    if not rows:
        command.say("There are no tokens.")


def revoke(command: PersonalCommand) -> None:
    """End a token for good."""
    row = tokens.revoke(command.options["prefix"], by=_by(command))
    command.show(Shown.model_validate(row), facts(f"Token {row.prefix} is revoked", _facts(row)))


def _words(text: str) -> list[str]:
    return [word for word in text.replace(",", " ").split() if word]


def _by(command: PersonalCommand) -> str:
    """Name the author of the change for the log: the person of --as, else this command."""
    name = command.options["as_user"]
    return person(name, "read").id if name else "command:token"


def _user(name: str, *, active: bool = True) -> Any:
    model = get_user_model()
    row = model._default_manager.filter(**{model.USERNAME_FIELD: name}).first()
    if row is None or (active and not row.is_active):
        raise Missing(f"There is no {'active ' if active else ''}user {name}.")
    return row


def _facts(row: TokenRow) -> list[tuple[str, object]]:
    return [
        ("prefix", row.prefix),
        *([("name", row.name)] if row.name else []),
        ("user", row.user),
        ("workspace", row.workspace),
        ("scopes", ", ".join(row.scopes)),
        ("expires", _time(row.expires_at) or "never"),
        *([("revoked", f"{_time(row.revoked_at)} by {row.revoked_by}")] if row.revoked_at else []),
    ]


def _table(rows: list[TokenRow]) -> Table:
    names = ("prefix", "name", "user", "workspace", "scopes", "state", "made", "expires", "used")
    return table(
        "",
        names,
        (
            (
                row.prefix,
                row.name,
                row.user,
                row.workspace,
                ", ".join(row.scopes),
                row.state,
                _time(row.created_at),
                _time(row.expires_at) or "never",
                _time(row.last_used_at) or "never",
            )
            for row in rows
        ),
    )


def _time(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M}" if at else ""


def _create_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("user", metavar="USER", help="whose rights it carries")
    parser.add_argument("--name", default="", help="what it is for; shown beside what it did")
    parser.add_argument(
        "--scopes",
        metavar="A,B",
        help=f"{', '.join(SCOPES)}; else what the roles allow, without decide and administer",
    )
    parser.add_argument(
        "--expires",
        metavar="90d|never",
        help=f"from now, in m, h, d or w (else {settings.GATEPOST_TOKEN_EXPIRES})",
    )
    parser.add_argument("--workspace", default="", metavar="NAME", help="else the user's oldest")


def _list_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("user", metavar="USER", nargs="?", default="", help="only this user's")


def _revoke_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prefix", metavar="PREFIX", help="the 8 characters after gp_")


VERBS = (
    Verb(
        "create",
        "makes a token and shows it this once",
        create,
        _create_options,
        """
        token create operator --name ci
        token create operator --name ci --scopes read,start --expires 12h
        token create manager --scopes decide --json
        """,
    ),
    Verb("list", "lists tokens, newest first", listing, _list_options),
    Verb("revoke", "ends a token for good", revoke, _revoke_options, "token revoke k3x9mq2p"),
)

"""Verbs of `user`: accounts, roles, sign-ins, second factors, and links to a provider."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model

from dashboard.identity.administrator import Administrator, administrator_of
from dashboard.identity.permissions import ROLES
from dashboard.kit.terminal.console import PersonalCommand, Usage, Verb
from dashboard.kit.terminal.tables import Table, facts, table
from dashboard.people.accounts.users import (
    UserRow,
    edit_user,
    link_user,
    list_users,
    make_user,
    user_by_name,
)
from dashboard.people.second_factor import remove_factor_of
from dashboard.people.second_factor_calls import Removed
from dashboard.people.sign_in_calls import SignInList, SignInsEnded
from dashboard.people.sign_ins import end_other_sign_ins, end_sign_in, list_sign_ins, sign_out_user
from dashboard.people.user_calls import UserList
from gatepost_command import COMMAND


def list_people(command: PersonalCommand) -> None:
    """All members of the workspace with their roles."""
    rows = list_users(_administrator(command))
    command.show(UserList(results=rows), _table(rows))


def create(command: PersonalCommand) -> None:
    """A new member; without --password-stdin one-time links let them in."""
    o = command.options
    password = sys.stdin.readline().rstrip("\n") if o["password_stdin"] else None
    row = make_user(
        _administrator(command),
        o["name"],
        password=password or None,
        roles=o["role"],
        **({"email": o["email"]} if o["email"] else {}),
    )
    _show(command, row)
    if not password:
        command.say(f"Let them in: {COMMAND} login_link {row.username}")


def set_roles(command: PersonalCommand) -> None:
    """Give somebody exactly these roles."""
    words = command.options["roles"]
    _edit(command, {}, roles=[word for word in words.split(",") if word])


def change(command: PersonalCommand) -> None:
    """Other names or another address of a user; what is not named stays."""
    o = command.options
    names = ("email", "first_name", "last_name")
    values = {name: o[name] for name in names if o[name] is not None}
    if not values:
        raise Usage("--email", "or another value is needed")
    _edit(command, values)


def disable(command: PersonalCommand) -> None:
    """Keep somebody out; open pages are closed within seconds."""
    _edit(command, {"is_active": False})


def enable(command: PersonalCommand) -> None:
    """Let somebody in again."""
    _edit(command, {"is_active": True})


def sign_ins(command: PersonalCommand) -> None:
    """The browsers that the person of --as is signed in with."""
    rows = list_sign_ins(command.actor("read"))
    payload = SignInList(results=rows)
    names = ("id", "device", "address", "by", "signed in", "last seen")
    command.show(
        payload,
        table(
            "",
            names,
            (
                (r.id, r.device, r.address, r.method, _time(r.begun_at), _time(r.last_seen_at))
                for r in rows
            ),
        ),
    )


def sign_out(command: PersonalCommand) -> None:
    """End all sign-ins of a person; with --mine or --only those, or one, of the person of --as."""
    name, only, mine = (command.options[option] for option in ("name", "only", "mine"))
    if [bool(name), only is not None, mine].count(True) != 1:
        raise Usage("USER", "name a user, all of your own with --mine or one of them with --only")
    if only is not None:
        end_sign_in(command.actor("sign_ins"), only)
        n = 1
    elif mine:
        n = end_other_sign_ins(command.actor("sign_ins"))
    else:
        who = _administrator(command)
        n = sign_out_user(who, user_by_name(who, name))
    command.show(SignInsEnded(ended=n), facts("Signed out", [("sign-ins ended", n)]))


def remove_second_factor(command: PersonalCommand) -> None:
    """Let a person who lost app and recovery codes sign in by the password alone."""
    who, name = _administrator(command), command.options["name"]
    remove_factor_of(who, user_by_name(who, name))
    command.show(Removed(removed=True), facts("Second factor removed", [("user", name)]))


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


def link(command: PersonalCommand) -> None:
    """Let the provider of single sign-on vouch for an account that was made here."""
    _link(command, command.options["subject"])
    command.say("Linked: they sign in by the provider from now on.")


def unlink(command: PersonalCommand) -> None:
    """Stop the provider from vouching for an account; its open logins stay."""
    _link(command, "")
    command.say("No longer linked.")


def _link(command: PersonalCommand, subject: str) -> None:
    who = _administrator(command)
    user_id = user_by_name(who, command.options["name"])
    link_user(who, user_id, subject, issuer=command.options["issuer"])


def _edit(command: PersonalCommand, values: dict[str, Any], **more: Any) -> None:
    who = _administrator(command)
    user_id = user_by_name(who, command.options["name"])
    _show(command, edit_user(who, user_id, values, **more))


def _administrator(command: PersonalCommand) -> Administrator:
    actor = command.actor("people")
    return administrator_of(get_user_model()._default_manager.get(pk=actor.user_id))


def _show(command: PersonalCommand, row: UserRow) -> None:
    command.show(row, _table([row]))


def _table(rows: list[UserRow]) -> Table:
    return table(
        "",
        ("user", "roles", "may sign in", "mail"),
        (
            (row.username, ", ".join(row.roles), "yes" if row.is_active else "no", row.email)
            for row in rows
        ),
    )


def _name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="USER")


def _sign_out_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="USER", nargs="?", default="", help="all of this user")
    parser.add_argument("--only", type=UUID, metavar="ID", help="this one of your own")
    parser.add_argument("--mine", action="store_true", help="all of your own")


def _create_options(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    parser.add_argument(
        "--role", action="append", default=[], choices=ROLES, help="once for each role"
    )
    parser.add_argument("--email", default="", help="where notifications go")
    parser.add_argument(
        "--password-stdin", action="store_true", help="read a password from standard input"
    )


def _change_options(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--email", help="where notifications go")
    parser.add_argument("--first-name", help="empty takes it away")
    parser.add_argument("--last-name", help="empty takes it away")


def _provider_options(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--issuer", default="", help="of another provider than the configured one")


def _link_options(parser: argparse.ArgumentParser) -> None:
    _provider_options(parser)
    parser.add_argument("--subject", required=True, help="the claim `sub` of the provider")


def _roles_options(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("roles", metavar="ROLES", help=f"some of {', '.join(ROLES)}, by commas")


VERBS = (
    Verb("list", "lists the members of the workspace and their roles", list_people),
    Verb(
        "create",
        "makes a user with roles in the workspace",
        create,
        _create_options,
        "user create ada --role operator --role reviewer --email ada@example.com",
    ),
    Verb(
        "roles",
        "gives a user exactly these roles",
        set_roles,
        _roles_options,
        "user roles ada operator,auditor",
    ),
    Verb(
        "change",
        "changes names or address of a user",
        change,
        _change_options,
        "user change ada --email ada@example.com",
    ),
    Verb("disable", "keeps a user out", disable, _name),
    Verb("enable", "lets a user in again", enable, _name),
    Verb("sign-ins", "lists where the person of --as is signed in", sign_ins),
    Verb(
        "sign-out",
        "ends all sign-ins of a user, all of your own, or one",
        sign_out,
        _sign_out_options,
        """
        user sign-out ada --as admin
        user sign-out --mine --as ada
        user sign-out --only 0197f1c2-6d1e-7a30-9b51-4f0b5a3c2d10 --as ada
        """,
    ),
    Verb(
        "remove-second-factor",
        "removes the authenticator app, recovery codes and passkeys of a user",
        remove_second_factor,
        _name,
        "user remove-second-factor ada --as admin",
    ),
    Verb(
        "link",
        "lets the provider of single sign-on vouch for a user",
        link,
        _link_options,
        "user link ada --subject 00u1abcd",
    ),
    Verb("unlink", "stops the provider from vouching for a user", unlink, _provider_options),
)

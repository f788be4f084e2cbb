"""Verbs of `endpoint`: list, create, change, rotate, enable, disable, test."""

from __future__ import annotations

import argparse
from typing import Any

from approvals.notify.endpoints import Wanted
from approvals.notify.queries import EndpointRow
from approvals.notify.texts.kinds import KINDS, NEWS
from dashboard import actions
from dashboard.actions import endpoints as reader
from dashboard.api.shapes.endpoints import Endpoint, EndpointList, EndpointMade
from dashboard.errors import Invalid, Missing
from dashboard.identity import tokens
from dashboard.identity.permissions import Actor
from dashboard.kit.terminal.console import PersonalCommand, Verb
from dashboard.kit.terminal.tables import Table, table


def list_endpoints(command: PersonalCommand) -> None:
    """All places that are sent news."""
    rows = reader.list_endpoints(command.actor("notify"))
    command.tell(EndpointList(results=[Endpoint.from_row(row) for row in rows]), _table(rows))
    if not rows:
        command.say("There is no endpoint: nobody is notified.")


def create(command: PersonalCommand) -> None:
    """Make an endpoint; the secret of a webhook stands alone on stdout, this once."""
    o = command.options
    wanted = Wanted(name=o["name"], **_values(o))
    row, secret = actions.make_endpoint(command.actor("notify"), o["kind"], wanted)
    _tell_secret(command, row, secret)


def change(command: PersonalCommand) -> None:
    """Other values; what is not named stays."""
    actor = command.actor("notify")
    row = _named(actor, command.options["name"])
    _tell(command, actions.change_endpoint(actor, row.id, Wanted(**_values(command.options))))


def rotate(command: PersonalCommand) -> None:
    """Give a webhook another secret; the former one signs as well for a while."""
    actor = command.actor("notify")
    words = command.options["keep"]
    keep = None if words == "0" else tokens.lifetime(words, "--keep")
    if words != "0" and keep is None:
        raise Invalid("--keep", "must have an end")
    seconds = 0.0 if keep is None else keep.total_seconds()
    row = _named(actor, command.options["name"])
    _tell_secret(command, *actions.rotate_endpoint(actor, row.id, seconds))


def enable(command: PersonalCommand) -> None:
    """Send to it again."""
    _switch(command, True)


def disable(command: PersonalCommand) -> None:
    """Send nothing to it; what it has not got yet is dropped."""
    _switch(command, False)


def test(command: PersonalCommand) -> None:
    """Have a worker send a test message."""
    actor = command.actor("notify")
    _tell(command, actions.try_endpoint(actor, _named(actor, command.options["name"]).id))
    command.say("A worker sends it; `endpoint list` shows the outcome.")


def _switch(command: PersonalCommand, active: bool) -> None:
    actor = command.actor("notify")
    row = _named(actor, command.options["name"])
    _tell(command, actions.switch_endpoint(actor, row.id, active))


def _values(options: dict[str, Any]) -> dict[str, Any]:
    """The endpoint's values from the command line; None leaves a value as it is."""
    lists = {name: options[name] or None for name in ("people", "teams")}
    return {
        "target": options["target"],
        "events": options["event"] or None,
        "digest": options["digest"],
        **lists,
    }


def _named(actor: Actor, name: str) -> EndpointRow:
    for row in reader.list_endpoints(actor):
        if name in (row.name, str(row.id)):
            return row
    raise Missing(f"There is no endpoint {name} in this workspace.")


def _tell(command: PersonalCommand, row: EndpointRow) -> None:
    command.tell(Endpoint.from_row(row), _table([row]))


def _tell_secret(command: PersonalCommand, row: EndpointRow, secret: str) -> None:
    if command.as_json:
        command.tell(EndpointMade.with_secret(row, secret))
        return
    if not secret:
        _tell(command, row)
        return
    command.stdout.write(secret)
    command.say(f"{row.name} ({row.id}): this is the only time the secret is shown.")


def _table(rows: list[EndpointRow]) -> Table:
    return table(
        "",
        ("endpoint", "kind", "target", "is", "open", "failed", "last error", "refused"),
        (
            (
                row.name,
                row.kind,
                row.target,
                "on" if row.active else "off",
                row.open,
                row.failed,
                row.last_error,
                row.refusal,
            )
            for row in rows
        ),
    )


def _name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")


def _change_options(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--target", help="a mail address, an address of apprise, or https://...")
    parser.add_argument(
        "--event", action="append", default=[], choices=NEWS, metavar="KIND", help="once for each"
    )
    parser.add_argument("--digest", type=int, help="minutes; 0: none")
    parser.add_argument("--people", action="append", default=[], metavar="USER")
    parser.add_argument("--teams", action="append", default=[], metavar="TEAM")


def _create_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=KINDS)
    _change_options(parser)


def _rotate_options(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    parser.add_argument(
        "--keep", default="24h", metavar="24h", help="how long the former secret signs as well"
    )


VERBS = (
    Verb("list", "lists the endpoints that notifications go to", list_endpoints),
    Verb(
        "create",
        "makes an endpoint; shows the secret of a webhook this once",
        create,
        _create_options,
        "endpoint create webhook ci --target https://ci.example.com/hook --event thread.failed",
    ),
    Verb("change", "changes an endpoint; what is not named stays", change, _change_options),
    Verb("rotate", "gives a webhook another secret", rotate, _rotate_options),
    Verb("enable", "sends to an endpoint again", enable, _name),
    Verb("disable", "sends nothing to an endpoint", disable, _name),
    Verb("test", "has a test message sent", test, _name),
)

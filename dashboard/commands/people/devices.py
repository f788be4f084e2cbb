"""Verbs of `device`: list, remove. Only a browser can add itself."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from uuid import UUID

from approvals.notify.devices import DeviceRow
from dashboard import actions
from dashboard.actions.fleet import devices
from dashboard.api.fleet.devices import Device, DeviceList
from dashboard.commands.terminal.console import PersonalCommand, Verb
from dashboard.commands.terminal.tables import Table, table
from dashboard.errors import Missing


def list_devices(command: PersonalCommand) -> None:
    """One's own devices."""
    actor = command.actor("read")
    rows = devices.list_devices(actor)
    key = devices.push_key(actor)
    wire = DeviceList(results=[Device.of(row) for row in rows], public_key=key)
    command.tell(wire, _table(rows))
    if not rows:
        command.say("There are no devices.")


def remove(command: PersonalCommand) -> None:
    """Send a device nothing more."""
    actor, text = command.actor("subscribe"), command.options["device"]
    try:
        ident = UUID(text)
    except ValueError:
        raise Missing("There is no such device; `device list` shows them.") from None
    row = actions.remove_device(actor, ident)
    command.tell(Device.of(row), _table([row]))
    command.say("Removed.")


def _table(rows: Sequence[DeviceRow]) -> Table:
    cells = ((str(row.id), row.name, row.target) for row in rows)
    return table("", ("device", "name", "push service"), cells)


def _remove_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("device", metavar="ID")


VERBS = (
    Verb("list", "lists your web push devices", list_devices),
    Verb("remove", "removes a device", remove, _remove_options),
)

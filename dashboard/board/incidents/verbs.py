"""Verbs of `incident`: list, show, take, give-back, snooze, wake, close."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from approvals.incidents.queries import IncidentRow, IncidentSelection
from dashboard.board.filters.incidents import INCIDENTS
from dashboard.errors import Invalid
from dashboard.identity import tokens
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor
from dashboard.kit.command import verb
from dashboard.kit.filters import add_options, read_options
from dashboard.kit.terminal.console import PersonalCommand, Verb
from dashboard.kit.terminal.tables import Table, table

from . import incidents
from .close import CLOSE
from .snooze import SNOOZE, WAKE, time_after
from .take import GIVE_BACK, TAKE
from .target import INCIDENT


def list_incidents(command: PersonalCommand) -> None:
    """The newest incidents."""
    o = command.options
    selection = IncidentSelection(**read_options(INCIDENTS, o))
    shown = incidents.list_incidents(command.actor("read"), selection, limit=o["limit"])
    command.show(shown, _table(shown.results))
    if not shown.results:
        command.say("There is no such incident.")


def show(command: PersonalCommand) -> None:
    """One incident and its newest threads."""
    actor = command.actor("read")
    shown = incidents.one_incident(actor, INCIDENT.find(actor, command.options["incident"]))
    threads = table(
        "",
        ("thread", "title", "status", "affected", "since"),
        ((str(o.id), o.title or "", o.status or "", o.in_trouble, o.since) for o in shown.newest),
    )
    command.show(shown, _table([shown]), threads)


def _show(command: PersonalCommand, _: Actor, shown: IncidentRow, __: UUID) -> None:
    command.show(shown, _table([shown]))


def _table(shown: Sequence[IncidentRow]) -> Table:
    names = people({one.taken_by for one in shown if one.taken_by})
    return table(
        "",
        ("incident", "what", "agent", "threads", "affected", "is", "taken by", "reason"),
        (
            (
                str(one.id),
                one.kind,
                one.agent,
                one.threads,
                one.affected,
                one.state,
                names.get(one.taken_by, one.taken_by),
                one.reason[:80],
            )
            for one in shown
        ),
    )


def _list_options(parser: argparse.ArgumentParser) -> None:
    add_options(parser, INCIDENTS, state="open")
    parser.add_argument("--limit", type=int, default=50, choices=range(1, 201), metavar="N")


def _name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("incident", metavar="ID")


def _for_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--for", dest="span", required=True, metavar="4h", help="up to 30d")


def _until(options: dict[str, Any]) -> dict[str, Any]:
    span = tokens.lifetime(options["span"], "--for")
    if span is None:
        raise Invalid("--for", "must have an end")
    return {"until": time_after(span)}


VERBS = (
    Verb("list", "lists incidents, the newest first", list_incidents, _list_options),
    Verb("show", "shows an incident and its newest threads", show, _name),
    verb(TAKE, _show),
    verb(GIVE_BACK, _show),
    verb(SNOOZE, _show, without=["until"], beside=(_for_option, _until)),
    verb(WAKE, _show),
    verb(CLOSE, _show),
)

"""Verbs of `incident`: list, show, take, give-back, snooze, wake, close."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from uuid import UUID

from approvals.incidents.queries import STATES, IncidentRow
from approvals.notify.texts.incident_kinds import TROUBLES
from dashboard import actions
from dashboard.actions.fleet import incidents
from dashboard.api.fleet.incidents import Incident, IncidentDetail, IncidentList, IncidentThread
from dashboard.commands.terminal.console import PersonalCommand, Verb
from dashboard.commands.terminal.tables import Table, table
from dashboard.errors import Invalid, Missing
from dashboard.identity import tokens
from dashboard.identity.people import people


def list_incidents(command: PersonalCommand) -> None:
    """The newest incidents."""
    o = command.options
    rows, last = incidents.list_incidents(
        command.actor("read"), state=o["state"], kind=o["kind"], agent=o["agent"], limit=o["limit"]
    )
    shown = IncidentList(results=[Incident.of(row) for row in rows], next_cursor=last)
    command.tell(shown, _table(rows))
    if not rows:
        command.say("There is no such incident.")


def show(command: PersonalCommand) -> None:
    """One incident and its newest threads."""
    row, newest = incidents.one_incident(command.actor("read"), _ident(command))
    shown = IncidentDetail(
        **Incident.of(row).model_dump(), newest=[IncidentThread.of(one) for one in newest]
    )
    threads = table(
        "",
        ("thread", "title", "status", "affected", "since"),
        ((str(o.id), o.title or "", o.status or "", o.in_trouble, o.since) for o in newest),
    )
    command.tell(shown, _table([row]), threads)


def take(command: PersonalCommand) -> None:
    """Take care of an incident."""
    _tell(command, actions.take_incident(command.actor("incident"), _ident(command)))


def give_back(command: PersonalCommand) -> None:
    """Stop taking care of it."""
    _tell(command, actions.give_back_incident(command.actor("incident"), _ident(command)))


def snooze(command: PersonalCommand) -> None:
    """Let nobody get news of it for a while."""
    span = tokens.lifetime(command.options["span"], "--for")
    if span is None:
        raise Invalid("--for", "must have an end")
    row = actions.snooze_incident(command.actor("incident"), _ident(command), span)
    _tell(command, row)


def wake(command: PersonalCommand) -> None:
    """Let news of it come again at once."""
    _tell(command, actions.wake_incident(command.actor("incident"), _ident(command)))


def close(command: PersonalCommand) -> None:
    """Close it with a reason."""
    reason = command.options["reason"]
    _tell(command, actions.close_incident(command.actor("incident"), _ident(command), reason))


def _tell(command: PersonalCommand, row: IncidentRow) -> None:
    command.tell(Incident.of(row), _table([row]))


def _ident(command: PersonalCommand) -> UUID:
    try:
        return UUID(command.options["incident"])
    except ValueError:
        raise Missing("There is no such incident; `incident list` shows them.") from None


def _table(rows: Sequence[IncidentRow]) -> Table:
    names = people({row.taken_by for row in rows if row.taken_by})
    return table(
        "",
        ("incident", "what", "agent", "threads", "affected", "is", "taken by", "reason"),
        (
            (
                str(row.id),
                row.kind,
                row.agent,
                row.threads,
                row.affected,
                row.state,
                names.get(row.taken_by, row.taken_by),
                row.reason[:80],
            )
            for row in rows
        ),
    )


def _list_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state", choices=STATES, default="open", help="open unless given")
    parser.add_argument("--kind", choices=TROUBLES, default="", help="only this trouble")
    parser.add_argument("--agent", default="", help="only of this agent")
    parser.add_argument("--limit", type=int, default=50, choices=range(1, 201), metavar="N")


def _name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("incident", metavar="ID")


def _snooze_options(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--for", dest="span", required=True, metavar="4h", help="up to 30d")


def _close_options(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--reason", required=True, help="why; kept in the log")


VERBS = (
    Verb("list", "lists incidents, the newest first", list_incidents, _list_options),
    Verb("show", "shows an incident and its newest threads", show, _name),
    Verb("take", "assigns an incident to you", take, _name),
    Verb("give-back", "unassigns an incident from you", give_back, _name),
    Verb(
        "snooze",
        "snoozes the notifications of an incident",
        snooze,
        _snooze_options,
        "incident snooze ID --for 4h",
    ),
    Verb("wake", "ends the snooze of an incident", wake, _name),
    Verb(
        "close",
        "closes an incident also while threads are affected",
        close,
        _close_options,
        'incident close ID --reason "known, fixed on Monday"',
    ),
)

"""Verbs of `subscription`: list, create, change, remove, quiet."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import time
from typing import Any
from uuid import UUID

from approvals.incidents.queries import SubscriptionRow
from approvals.incidents.subscriptions import Choice
from approvals.notify.texts.incident_kinds import TROUBLES
from dashboard import actions
from dashboard.actions.fleet import subscriptions
from dashboard.api.fleet.subscriptions import QuietHours, Subscription, SubscriptionList
from dashboard.commands.terminal.console import PersonalCommand, Verb
from dashboard.commands.terminal.tables import Table, table
from dashboard.errors import Invalid, Missing
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor


def list_subscriptions(command: PersonalCommand) -> None:
    """One's own and those of one's teams; with --everybody all."""
    actor = command.actor("read")
    rows = subscriptions.list_subscriptions(actor, everybody=command.options["everybody"])
    command.tell(SubscriptionList(results=[Subscription.of(row) for row in rows]), _table(rows))
    if not rows:
        command.say("Nobody is subscribed.")


def create(command: PersonalCommand) -> None:
    """Subscribe oneself, or as an admin a person or a team."""
    o, actor = command.options, command.actor("subscribe")
    row = actions.make_subscription(
        actor, Choice(**_values(actor, o)), person=o["person"] or "", team=o["team"] or ""
    )
    _tell(command, row)


def change(command: PersonalCommand) -> None:
    """Other values; what is not named stays."""
    o, actor = command.options, command.actor("subscribe")
    choice = Choice(**_values(actor, o))
    _tell(command, actions.change_subscription(actor, _ident(o["subscription"]), choice))


def remove(command: PersonalCommand) -> None:
    """Send nothing more for it."""
    actor = command.actor("subscribe")
    _tell(command, actions.remove_subscription(actor, _ident(command.options["subscription"])))
    command.say("Removed.")


def quiet(command: PersonalCommand) -> None:
    """Show one's quiet hours, set them or end them."""
    o = command.options
    if o["off"]:
        row = actions.set_quiet_hours(command.actor("subscribe"), None)
    elif o["hours"]:
        begins, _, ends = o["hours"].partition("-")
        span = _clock(begins), _clock(ends)
        row = actions.set_quiet_hours(command.actor("subscribe"), span, o["zone"])
    else:
        row = subscriptions.own_quiet_hours(command.actor("read"))
    words = () if row is None else ((f"{row.begins:%H:%M}", f"{row.ends:%H:%M}", row.zone),)
    command.tell(QuietHours.of(row), table("", ("from", "to", "time zone"), words))
    if row is None:
        command.say("There are no quiet hours.")


def _values(actor: Actor, options: dict[str, Any]) -> dict[str, Any]:
    """Values that the command line names; None leaves one as it is."""
    kinds = options["kind"] or None
    return {
        "endpoint": _endpoint(actor, options["endpoint"]) if options["endpoint"] else None,
        "kinds": [] if options["only_escalated"] else kinds,
        "agent": options["agent"],
        "label": options["label"],
        "urgent": options["urgent"],
        "escalate_to": _ident(options["escalate_to"]) if options["escalate_to"] else None,
        "escalate_minutes": options["escalate_minutes"],
    }


def _endpoint(actor: Actor, name: str) -> UUID:
    for row in subscriptions.usable_endpoints(actor):
        if name in (row.name, str(row.id)):
            return row.id
    raise Missing(f"There is no endpoint {name} that you may choose.")


def _ident(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Missing("There is no such subscription; `subscription list` shows them.") from None


def _clock(text: str) -> time:
    try:
        return time.fromisoformat(text.strip())
    except ValueError:
        raise Invalid("--hours", "are written 22:00-07:00") from None


def _tell(command: PersonalCommand, row: SubscriptionRow) -> None:
    command.tell(Subscription.of(row), _table([row]))


def _table(rows: Sequence[SubscriptionRow]) -> Table:
    names = people({row.person for row in rows if row.person})
    return table(
        "",
        ("subscription", "whose", "by", "of", "agent", "label", "escalates"),
        (
            (
                str(row.id),
                row.team or names.get(row.person, row.person),
                row.endpoint_name,
                "all" if len(row.kinds) == len(TROUBLES) else ", ".join(row.kinds),
                row.agent,
                row.label,
                f"after {row.escalate_minutes} min" if row.escalate_to else "",
            )
            for row in rows
        ),
    )


def _list_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--everybody", action="store_true", help="for auditors and admins")


def _change_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--endpoint", metavar="NAME", help="the endpoint that notifications go to")
    parser.add_argument(
        "--kind", action="append", default=[], choices=TROUBLES, metavar="KIND", help="once each"
    )
    parser.add_argument(
        "--only-escalated", action="store_true", help="only what others escalate to it"
    )
    parser.add_argument("--agent", help="only of this agent")
    parser.add_argument("--label", metavar="KEY=VALUE", help="only of threads with this label")
    parser.add_argument(
        "--urgent", action=argparse.BooleanOptionalAction, help="during quiet hours as well"
    )
    parser.add_argument(
        "--escalate-to", metavar="ID", help="the subscription to notify if nobody is assigned"
    )
    parser.add_argument(
        "--escalate-minutes", type=int, metavar="N", help="minutes until then; 0: never"
    )


def _create_options(parser: argparse.ArgumentParser) -> None:
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--person", metavar="USER", help="admins only; else yourself")
    whose.add_argument("--team", help="admins only")
    _change_options(parser)


def _name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("subscription", metavar="ID")


def _change_named(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    _change_options(parser)


def _quiet_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hours", metavar="22:00-07:00", help="from and to, each day")
    parser.add_argument("--zone", default="UTC", help="a time zone, such as Europe/Berlin")
    parser.add_argument("--off", action="store_true", help="ends the quiet hours")


VERBS = (
    Verb("list", "lists your subscriptions", list_subscriptions, _list_options),
    Verb(
        "create",
        "subscribes you to incidents",
        create,
        _create_options,
        "subscription create --endpoint mail --kind thread.failed --agent payments",
    ),
    Verb("change", "changes a subscription; what is not named stays", change, _change_named),
    Verb("remove", "removes a subscription", remove, _name),
    Verb(
        "quiet",
        "shows your quiet hours, or sets them",
        quiet,
        _quiet_options,
        "subscription quiet --hours 22:00-07:00 --zone Europe/Berlin",
    ),
)

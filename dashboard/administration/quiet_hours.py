"""Quiet hours: the hours of each day in which news of incidents waits for a person."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from datetime import time
from typing import Annotated, Final, Self

from pydantic import Field

from approvals.incidents import quiet_hours
from approvals.incidents.models import QuietHours as QuietRow
from approvals.notify.texts.incident_kinds import ZONE_MAX
from checkpoints.states import WorkspaceEventKind
from dashboard.documents.state_shape import Shape
from dashboard.errors import Fault, Invalid
from dashboard.fields.shapes import Field as FormField
from dashboard.identity.permissions import Actor, require
from dashboard.kit.action import Action, read
from dashboard.kit.inputs import declared
from dashboard.kit.resource import reading
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import NotBlank
from dashboard.kit.terminal.console import PersonalCommand, Verb
from dashboard.kit.terminal.tables import table

USUAL: Final = {"begins": "22:00", "ends": "07:00", "zone": "UTC"}
CLOCK: Final = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
Clock = Annotated[
    str, Field(pattern=CLOCK, max_length=5, description="Hours and minutes, such as 22:00.")
]


class Hours(RequestShape):
    """Hours of each day; past midnight where they end earlier than they begin."""

    begins: Clock
    ends: Clock
    zone: Annotated[str, NotBlank(ZONE_MAX)] = Field(
        default="UTC", description="A time zone, such as Europe/Berlin."
    )


class SetQuietHours(RequestShape):
    """Quiet hours of the caller; null: none."""

    hours: Hours | None


class QuietHours(Shape):
    """Quiet hours of the caller; all null where there are none."""

    begins: str | None
    ends: str | None
    zone: str | None

    @classmethod
    def of(cls, row: QuietRow | None) -> Self:
        """The row for the wire."""
        if row is None:
            return cls(begins=None, ends=None, zone=None)
        return cls(begins=f"{row.begins:%H:%M}", ends=f"{row.ends:%H:%M}", zone=row.zone)


def hours_of(written: Mapping[str, str]) -> Hours:
    """The hours that a person writes; raises Invalid."""
    texts = {name: written.get(name, "").strip() for name in Hours.model_fields}
    wrong = [name for name in ("begins", "ends") if not re.fullmatch(CLOCK, texts[name])]
    if wrong:
        raise Invalid.of(Fault(f"$.{name}", "is written 22:00") for name in wrong)
    return read(Hours, texts)


def form_of(
    hours: QuietHours, texts: Mapping[str, str], problems: Mapping[str, str]
) -> dict[str, FormField]:
    """The inputs of the page's form; it begins with a night where nothing is set."""
    opened = hours.model_dump() if hours.begins else USUAL
    return declared(Hours, [*Hours.model_fields], texts, problems, opened=opened)


def own_quiet_hours(actor: Actor) -> QuietHours:
    """The quiet hours of the person who asks."""
    require(actor, "read")
    return QuietHours.of(quiet_hours.of_person(actor.workspace, actor.person))


def set_quiet_hours(actor: Actor, wanted: SetQuietHours) -> QuietHours:
    """Let news of incidents wait for the person in these hours of each day, or at no hour."""
    workspace, person, hours = actor.workspace, actor.person, wanted.hours
    if hours is None:
        quiet_hours.remove_quiet_hours(workspace, person, actor=actor.id)
        return QuietHours.of(None)
    span = time.fromisoformat(hours.begins), time.fromisoformat(hours.ends)
    row = quiet_hours.set_quiet_hours(workspace, person, *span, hours.zone, actor=actor.id)
    return QuietHours.of(row)


SET: Final = Action(
    name="quiet_hours.set",
    call_id="quiet_hours_set",
    right="subscribe",
    takes=SetQuietHours,
    answers=QuietHours,
    perform=set_quiet_hours,
    events=(WorkspaceEventKind.QUIET_HOURS_SET, WorkspaceEventKind.QUIET_HOURS_REMOVED),
    summary="Set your quiet hours",
    description="Notifications of incidents wait until they end, except those of damaged "
    "records, breakers and urgent subscriptions.",
    help="shows your quiet hours, or sets them",
    done=lambda wanted, _: "Set." if wanted.hours else "Notifications come at any hour.",
    examples="subscription quiet --hours 22:00-07:00 --zone Europe/Berlin",
)
OWN: Final = reading(
    "quiet_hours_retrieve",
    QuietHours,
    own_quiet_hours,
    summary="Your quiet hours",
    description="All null without.",
)


def _quiet(command: PersonalCommand) -> None:
    """Show one's quiet hours, set them or end them."""
    o = command.options
    if o["off"] or o["hours"]:
        begins, _, ends = (o["hours"] or "").partition("-")
        texts = {"begins": begins.strip(), "ends": ends.strip(), "zone": o["zone"]}
        hours = None if o["off"] else hours_of(texts)
        shown = SET.run(command.actor(SET.right), SetQuietHours(hours=hours))
    else:
        shown = own_quiet_hours(command.actor("read"))
    words = ((shown.begins, shown.ends, shown.zone),) if shown.begins else ()
    command.show(shown, table("", ("from", "to", "time zone"), words))
    if not words:
        command.say("There are no quiet hours.")


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hours", metavar="22:00-07:00", help="from and to, each day")
    parser.add_argument("--zone", default="UTC", help="a time zone, such as Europe/Berlin")
    parser.add_argument("--off", action="store_true", help="ends the quiet hours")


# Without hours it only shows them, so it is written by hand.
QUIET: Final = Verb("quiet", SET.help, _quiet, _options, SET.examples, SET.name)

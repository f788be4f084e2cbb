"""One turn of outgoing anchors: make one, hand it to each destination that is due, raise alarms.

A destination that was away gets what it missed: a file all anchors, the others the newest, whose
hash fixes those before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction

from checkpoints import queries
from checkpoints.anchors import destinations as progress
from checkpoints.anchors import made
from checkpoints.anchors.destinations import Progress
from checkpoints.anchors.form import Anchor

from .. import outbox
from ..notify.texts.kinds import NotDelivered
from . import channels
from .channels import Sign
from .destinations import Destination

log = structlog.get_logger("gatepost.anchors")
KIND = "anchors.late"
FILE_AT_ONCE = 100
BATCHES = 50
TRIES = 5
HELD = (
    "A transaction that began before them is still open: end the session with the oldest "
    "backend_xid in pg_stat_activity, or the one in pg_prepared_xacts."
)


@dataclass(frozen=True, slots=True)
class Sent:
    """Outcome of an anchor at one destination; `error` is empty where it was confirmed."""

    name: str
    number: int
    error: str


@dataclass(frozen=True, slots=True)
class DueAnchor:
    """An anchor for a destination that is due; `begun` says whether it confirmed one before."""

    destination: Destination
    anchor: Anchor
    begun: bool

    def send(self, sign: Sign) -> Sent:
        """Hand it over and note the outcome."""
        return _send(self, sign)


def send_due(destinations: Sequence[Destination], *, sign: Sign, force: bool = False) -> list[Sent]:
    """Make an anchor if a destination is due, and hand it out; with `force` to all of them."""
    return [one.send(sign) for one in due_anchors(destinations, force=force)]


def due_anchors(destinations: Sequence[Destination], *, force: bool = False) -> list[DueAnchor]:
    """Make an anchor if a destination is due, with `force` in any case; one entry for each."""
    names = [one.name for one in destinations]
    progress.begin(names)
    known = {one.name: one for one in progress.standings(names)}
    due = [one for one in destinations if force or _is_due(one, known[one.name])]
    if not due:
        return []
    anchor = _newest()
    return [DueAnchor(one, anchor, known[one.name].acknowledged > 0) for one in due]


def _newest() -> Anchor:
    """Make anchors until no event waits for one; of a long history a turn makes some of them."""
    anchor, more = _make()
    for _ in range(BATCHES - 1):
        if not more:
            break
        anchor, more = _make()
    return anchor


def _make() -> tuple[Anchor, bool]:
    """Make one; again where another process made the one with this number meanwhile."""
    for _ in range(TRIES - 1):
        with suppress(IntegrityError):
            return made.make_anchor()
    return made.make_anchor()


def _is_due(one: Destination, known_state: Progress) -> bool:
    tried = known_state.tried_seconds
    # What was refused is tried again sooner than a rare destination is due.
    pause = min(one.every, 60.0) if known_state.error else one.every
    # Tried in the future: the clock stepped back since, and waiting for it would be a gap.
    return tried is None or tried < 0 or tried >= pause - 1


def _send(due: DueAnchor, sign: Sign) -> Sent:
    name, number = due.destination.name, due.anchor.number
    try:
        number = _hand_over(due, sign)
    except NotDelivered as error:
        log.warning("anchor.not_delivered", destination=name, error=error.text)
        progress.note_refused(name, error.text)
        return Sent(name, number, error.text)
    except Exception as error:
        log.exception("anchor.failed", destination=name)
        message = f"Sending failed: {type(error).__name__}."
        progress.note_refused(name, message)
        return Sent(name, number, message)
    progress.note_acknowledged(name, number)
    return Sent(name, number, "")


def _hand_over(due: DueAnchor, sign: Sign) -> int:
    one, anchor = due.destination, due.anchor
    if one.kind == "file":
        return _extend_file(due, sign)
    if one.kind == "mailto":
        channels.send_mail(one.address, anchor, sign)
    elif one.kind == "webhook":
        channels.post_webhook(one.address, anchor, sign)
    else:
        progress.keep_stamp(anchor.number, one.name, channels.stamp(one, anchor))
    return anchor.number


def _extend_file(due: DueAnchor, sign: Sign) -> int:
    one = due.destination
    with channels.locked_file(one.address, begun=due.begun) as file:
        # Read with the lock: another process may have written meanwhile.
        [current] = progress.standings([one.name])
        number = current.acknowledged
        while missed := made.anchors_after(number, limit=FILE_AT_ONCE):
            file.append(missed, sign)
            number = missed[-1].number
            progress.note_acknowledged(one.name, number)
    return number


@dataclass(frozen=True, slots=True)
class Late:
    """A destination that has confirmed nothing for too long, or whose anchors lack events."""

    name: str
    seconds: float
    error: str
    held: bool = False

    @property
    def in_words(self) -> str:
        """`none for 11 minutes. The folder is not mounted.`"""
        minutes = f"{self.seconds // 60:,.0f} minutes"
        if self.held:
            return f"{minutes} of events are in none. {HELD}"
        return f"none for {minutes}. {self.error}".rstrip()


def late_of(destinations: Sequence[Destination], *, minutes: float) -> list[Late]:
    """Those that have confirmed no anchor, or whose anchors lack events, for too long.

    That is `minutes` beyond their own interval. Events are lacking while an older transaction is
    open.
    """
    every = {one.name: one.every for one in destinations}
    result = []
    for one in progress.standings([*every]):
        limit = minutes * 60 + _waits(every[one.name])
        if one.gap_seconds > limit:
            result.append(Late(one.name, one.gap_seconds, one.error))
        elif one.held_seconds > limit:
            result.append(Late(one.name, one.held_seconds, "", held=True))
    return result


def late() -> list[Late]:
    """Destinations of this installation that are late; without any it asks nothing."""
    if not settings.GATEPOST_ANCHORS:
        return []
    return late_of(settings.GATEPOST_ANCHORS, minutes=settings.GATEPOST_ANCHORS_LATE_MINUTES)


def _waits(every: float) -> float:
    return every if every > 60 else 0.0


def raise_alarms(destinations: Sequence[Destination], *, minutes: float) -> int:
    """Put one news for each workspace in the outbox when a destination becomes late; how many."""
    late = {one.name: one for one in late_of(destinations, minutes=minutes)}
    n_news = 0
    for one in destinations:
        gap = late.get(one.name)
        with transaction.atomic():
            if not progress.note_alarm(one.name, late=gap is not None) or gap is None:
                continue
            what = f"Anchors at {one.name}: {gap.in_words}"
            log.critical(KIND, destination=one.name, seconds=gap.seconds, reason=gap.in_words)
            for head in queries.heads("workspace"):
                data = {"destination": one.name, "seconds": round(gap.seconds), "what": what}
                outbox.add(KIND, workspace=head.ident, thread=None, data=data)
                n_news += 1
    return n_news

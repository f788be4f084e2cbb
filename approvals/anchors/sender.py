"""One turn of outgoing anchors: make one, hand it to each destination that is due, raise alarms.

A destination that was away gets what it missed: a file all anchors, the others the newest, whose
hash fixes those before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from django.db import transaction

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


@dataclass(frozen=True, slots=True)
class Sent:
    """Outcome of an anchor at one destination; `error` is empty where it was confirmed."""

    name: str
    number: int
    error: str


def send_due(destinations: Sequence[Destination], *, sign: Sign, force: bool = False) -> list[Sent]:
    """Make an anchor if a destination is due, and hand it out; with `force` to all of them."""
    names = [one.name for one in destinations]
    progress.begin(names)
    known = {one.name: one for one in progress.standings(names)}
    due = [one for one in destinations if force or _is_due(one, known[one.name])]
    if not due:
        return []
    anchor = _newest()
    return [_send(one, known[one.name], anchor, sign) for one in due]


def _newest() -> Anchor:
    """Make anchors until no event waits for one; of a long history a turn makes some of them."""
    for _ in range(BATCHES):
        anchor, more = made.make_anchor()
        if not more:
            break
    return anchor


def _is_due(one: Destination, known_state: Progress) -> bool:
    tried = known_state.tried_seconds
    # What was refused is tried again sooner than a rare destination is due.
    pause = min(one.every, 60.0) if known_state.error else one.every
    return tried is None or tried >= pause - 1


def _send(one: Destination, known_state: Progress, anchor: Anchor, sign: Sign) -> Sent:
    try:
        number = _hand_over(one, known_state, anchor, sign)
    except NotDelivered as error:
        log.warning("anchor.not_delivered", destination=one.name, error=error.text)
        progress.note_refused(one.name, error.text)
        return Sent(one.name, anchor.number, error.text)
    except Exception as error:
        log.exception("anchor.failed", destination=one.name)
        message = f"Sending failed: {type(error).__name__}."
        progress.note_refused(one.name, message)
        return Sent(one.name, anchor.number, message)
    progress.note_acknowledged(one.name, number)
    return Sent(one.name, number, "")


def _hand_over(one: Destination, known_state: Progress, anchor: Anchor, sign: Sign) -> int:
    if one.kind == "file":
        number = known_state.acknowledged
        while missed := made.anchors_after(number, limit=FILE_AT_ONCE):
            channels.append_to_file(one.address, missed, sign)
            number = missed[-1].number
            progress.note_acknowledged(one.name, number)
        return number
    if one.kind == "mailto":
        channels.send_mail(one.address, anchor, sign)
    elif one.kind == "webhook":
        channels.post_webhook(one.address, anchor, sign)
    else:
        progress.keep_stamp(anchor.number, one.name, channels.stamp(one, anchor))
    return anchor.number


@dataclass(frozen=True, slots=True)
class Late:
    """A destination that has confirmed nothing for too long."""

    name: str
    seconds: float
    error: str

    @property
    def minutes(self) -> int:
        """The same in whole minutes."""
        return int(self.seconds // 60)


def late_of(destinations: Sequence[Destination], *, minutes: float) -> list[Late]:
    """Those that have confirmed no anchor for `minutes` beyond their own interval."""
    every = {one.name: one.every for one in destinations}
    return [
        Late(one.name, one.gap_seconds, one.error)
        for one in progress.standings([*every])
        if one.gap_seconds > minutes * 60 + _waits(every[one.name])
    ]


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
            what = f"{one.name} has confirmed no anchor for {gap.seconds / 60:.0f} minutes."
            what += f" {gap.error}" if gap.error else ""
            log.critical(KIND, destination=one.name, seconds=gap.seconds, error=gap.error)
            for head in queries.heads("workspace"):
                data = {"destination": one.name, "seconds": round(gap.seconds), "what": what}
                outbox.tell(KIND, workspace=head.ident, thread=None, data=data)
                n_news += 1
    return n_news

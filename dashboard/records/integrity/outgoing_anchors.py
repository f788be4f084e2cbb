"""Anchors go out by themselves: the sweep calls, one worker makes and sends them apart from it.

Between two steps nothing is held: no transaction is open while a mail server or a disk is slow.
"""

from __future__ import annotations

import hmac
import threading
import time
from functools import cache
from hashlib import sha256
from typing import Any, Final

import structlog
from django.conf import settings
from django.dispatch import receiver

from approvals.anchors import sender
from approvals.anchors.sender import DueAnchor, Sent
from checkpoints import store
from checkpoints.signals import anchors_due
from workers.slot import forks
from workers.slot.side_threads import side_thread

from .anchors import anchor_key

log = structlog.get_logger("gatepost.anchors")
DUTY: Final = "anchors"
DUTY_SECONDS: Final = 180.0
LOOK_SECONDS: Final = 5.0


def sign(digest: str) -> str:
    """The signature of an anchor's hash with the anchor key of this installation."""
    return hmac.new(anchor_key(), digest.encode(), sha256).hexdigest()


def send_now() -> list[Sent]:
    """Make an anchor and hand it to every destination, due or not."""
    return sender.send_due(settings.GATEPOST_ANCHORS, sign=sign, force=True)


class Dispatcher:
    """One turn at a time, when it is called and the last look is some seconds ago.

    Each destination has a thread of its own: one that hangs holds up no other, and no alarm.
    """

    def __init__(self) -> None:
        self._turns = forks.Turn()
        self._thread: threading.Thread | None = None
        self._sending: dict[str, threading.Thread] = {}
        self._next_at = 0.0

    def call(self, owner: str) -> None:
        """Begin a turn, unless it is at it; called by one thread alone."""
        if time.monotonic() < self._next_at or (self._thread and self._thread.is_alive()):
            return
        self._next_at = time.monotonic() + LOOK_SECONDS
        self._thread = threading.Thread(
            target=self._turn, args=(owner,), name="anchors", daemon=True
        )
        self._thread.start()

    def join(self) -> None:
        """Wait for the end of the turn, if there is one, and of what it sends."""
        if self._thread is not None:
            self._thread.join()
        for thread in self._sending.values():
            thread.join()

    def _turn(self, owner: str) -> None:
        with side_thread(log, "anchors.failed"):
            with self._turns.taken():
                if not store.claim_duty(DUTY, owner=owner, seconds=DUTY_SECONDS):
                    return
            try:
                self._send()
            finally:
                sender.raise_alarms(
                    settings.GATEPOST_ANCHORS, minutes=settings.GATEPOST_ANCHORS_LATE_MINUTES
                )

    def _send(self) -> None:
        """Begin to send to each destination that is due and is not still being sent to."""
        running = {name for name, thread in self._sending.items() if thread.is_alive()}
        free = [one for one in settings.GATEPOST_ANCHORS if one.name not in running]
        for due in sender.due_anchors(free):
            name = due.destination.name
            thread = threading.Thread(
                target=_send_one, args=(due,), name=f"anchors: {name}", daemon=True
            )
            self._sending[name] = thread
            thread.start()


def _send_one(due: DueAnchor) -> None:
    with side_thread(log, "anchors.failed"):
        due.send(sign)


@receiver(anchors_due, dispatch_uid="dashboard.records.integrity.outgoing_anchors")
def go_on(*, owner: str, **_kwargs: Any) -> None:
    """Send in this process, apart from the sweep."""
    _dispatcher().call(owner)


@cache
def _dispatcher() -> Dispatcher:
    return Dispatcher()

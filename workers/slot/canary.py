"""Proof that this worker takes and does work: it rings for itself, and a slot answers.

The ring goes through the broker, in a queue that only this worker listens to, and is answered by
whichever slot takes it; the answer is the worker's sign of life. A stopped, wedged or disconnected
worker rings or answers no more. Slots that are busy answer late: while one of them keeps its lease
fresh, that counts, as long as the main process is there to say so.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from typing import Any

import structlog
from django.conf import settings

from checkpoints import store

from ..broker.doorbell import CANARY
from ..broker.own_queue import own_queue
from ..broker.producers import send
from ..shared_page import answered, at_work, busy, last_answer
from .loop import BOOT
from .stop_flag import stop_requested

log = structlog.get_logger("gatepost.canary")
# Canaries unanswered in a row, though a slot is free, after which a worker ends itself, and how
# many more until its process is killed. Rings are counted, not seconds: a machine that slept has
# missed none.
GIVE_UP_RINGS, ENDING_RINGS = 12, 6
EXIT_DEAF = 70
EVERY_SECONDS = 5.0  # three tries before a worker counts as gone

_worker = ""


def worker_id() -> str:
    """The name of this worker in the fleet; the same in each process of its pool."""
    global _worker
    _worker = _worker or f"worker:{socket.gethostname()}:{os.getpid()}:{BOOT}"
    return _worker


def listen(consumed: Any) -> None:
    """Take messages of the own queue too; called before the pool forks."""
    consumed.select_add(own_queue(worker_id()))


def ring() -> bool:
    """Ask any slot of this worker for an answer; False while the broker is away."""
    # One that nobody took in time is dropped unread: they cannot pile up.
    return send(CANARY, worker_id(), queue=own_queue(worker_id()), expires=EVERY_SECONDS * 2)


def answer(worker: str) -> None:
    """A slot says that it works; only for the worker that it belongs to."""
    if worker == worker_id():
        answered()
        alive()


def alive() -> None:
    """Note the sign of life: for the machine in the pulse file, for the fleet in the database.

    One that stops takes nothing: the fleet does not count it, its machine still does.
    """
    if settings.GATEPOST_PULSE:
        with open(settings.GATEPOST_PULSE, "w") as file:
            file.write(worker_id())
    if not stop_requested():
        store.heartbeat_worker(worker_id())


class Canary:
    """A timer of test doorbells; advanced by the sweeper, in the main process."""

    def __init__(self) -> None:
        self._rung = 0.0
        self._unanswered = 0
        self._ending = False
        self.slots = 1

    def turn(self) -> None:
        """Ring when it is time; while slots are at work, that itself is the sign."""
        now = time.monotonic()
        if now - self._rung < EVERY_SECONDS and self._rung:
            return
        before, self._rung = self._rung, now
        # Without a broker nothing can be asked; readiness then names the broker, not the worker.
        if not ring() or (busy() and not self._one_is_free()):
            alive()
            self._unanswered = 0
        elif last_answer() >= before:
            self._unanswered = 0
        else:
            self._unanswered += 1
        self._end_if_deaf()

    def _end_if_deaf(self) -> None:
        """End a worker whose free slots answer no canary: a supervisor starts one that listens."""
        if self._unanswered < GIVE_UP_RINGS:
            return
        if not self._ending and not stop_requested():
            self._ending = True
            log.critical("worker.takes_no_messages", rings=self._unanswered)
            os.kill(os.getpid(), signal.SIGTERM)
        elif self._ending and self._unanswered >= GIVE_UP_RINGS + ENDING_RINGS:
            os._exit(EXIT_DEAF)  # its main loop does not even take the signal

    def _one_is_free(self) -> bool:
        """A slot that holds no lease could answer: a pool of which none does takes no messages.

        Slots that are threads say nothing of themselves: their work counts as an answer.
        """
        return 0 < at_work() < self.slots

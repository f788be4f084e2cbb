"""A process that sweeps and sends news while no worker lives; it has no slot and no agent.

To the fleet it is a worker without slots, queues and agents: no thread is ever left to it.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from approvals.notify.sender import Sender
from checkpoints import store

from . import canary
from .clock import ClockWatch
from .sweep import DUTY, Rest, interval_seconds, sweep_once

log = structlog.get_logger("gatepost.standby")


class Standby:
    """Sweeps where no worker does, as long as `stop` is not set."""

    def __init__(self) -> None:
        self.name = canary.worker_id()
        self._clock, self._rest, self._sender = ClockWatch(), Rest(), Sender()
        self._announced = False
        self._alive_at = 0.0

    def run(self, stop: threading.Event) -> None:
        """Turn until `stop` is set; then give the duty back."""
        self._sender.start()
        try:
            while not stop.is_set():
                try:
                    self.turn()
                except (DatabaseError, InterfaceError) as error:
                    log.warning("sweep.failed", error=str(error).strip())
                    connection.close()
                except Exception:
                    log.exception("sweep.failed")
                stop.wait(interval_seconds())
        finally:
            self._sender.stop()
            self._retire()
            connection.close()

    def turn(self) -> None:
        """Give a sign of life, and sweep if nobody else does."""
        self._say_alive()
        if store.claim_duty(DUTY, owner=self.name, seconds=interval_seconds() * 3):
            self._clock.look(worker=self.name)
            if not self._rest.turn():
                sweep_once(owner=self.name)

    def _say_alive(self) -> None:
        if not self._announced:
            host, pid = socket.gethostname(), os.getpid()
            store.announce_worker(self.name, host=host, pid=pid, slots=0, queues=(), agents=())
            self._announced = True
        elif time.monotonic() - self._alive_at < canary.EVERY_SECONDS:
            return
        store.heartbeat_worker(self.name)
        self._alive_at = time.monotonic()
        if settings.GATEPOST_PULSE:
            Path(settings.GATEPOST_PULSE).write_text(self.name)

    def _retire(self) -> None:
        try:
            store.forget_duty(DUTY, owner=self.name)
            store.retire_worker(self.name)
        except (DatabaseError, InterfaceError):
            log.warning("worker.not_retired", worker=self.name)

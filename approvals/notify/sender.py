"""The sender: takes news out of the outbox, sends what is due, records the outcome.

It works in a thread of a worker's main process, in as many workers as there are: claims keep them
apart. Messages travel in threads of their own, so a slow server stops neither the sweep nor other
endpoints; only the sender's own thread touches the database.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from checkpoints.postgres.background_loop import BackgroundLoop

from . import delivery, devices, due_deliveries, fan_out
from .due_deliveries import Claim
from .texts.kinds import NotDelivered

log = structlog.get_logger("gatepost.notify")
# Concurrent messages of one sender.
SLOTS: Final = 8
# A whole message may take this many times as long as one answer of a server.
PATIENCE: Final = 6
TIDY_SECONDS: Final = 600.0
_Ended = tuple[Claim, int | NotDelivered]


class Sender:
    """One sender; `turn` once, or `start` for a thread that turns until `stop`.

    Each turn of its own thread happens inside of what `turn` gives.
    """

    def __init__(
        self, *, slots: int = SLOTS, turn: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        self._slots = slots
        self._inside = turn
        self._begun = 0  # messages, in the last turn
        self._travelling: dict[UUID, tuple[Claim, float]] = {}  # with the time they began
        self._renewed = self._tidied = time.monotonic()
        self._ended: queue.SimpleQueue[_Ended] = queue.SimpleQueue()
        self._loop = BackgroundLoop(
            "notify", self._turn, log=log, pause=self._pause, last=self._last_notes
        )

    def start(self) -> None:
        """Begin to turn."""
        self._loop.start()

    def stop(self) -> None:
        """Begin nothing more; what is on its way a moment longer is noted, the rest comes again."""
        self._loop.stop()

    def turn(self) -> int:
        """Note what arrived, take news, send what is due; how many messages were begun."""
        self._note()
        self._look_after()
        while fan_out.spread():
            pass
        begun = 0
        while len(self._travelling) < self._slots and not self._loop.is_stopped:
            claimed = due_deliveries.claim()
            if claimed is None:
                break
            self._begin(claimed)
            begun += 1
        return begun

    def drain(self, *, seconds: float = 30) -> int:
        """Turn until nothing is due and nothing on its way; how many messages were begun."""
        until, begun = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            begun += (now := self.turn())
            if not now and not self._travelling:
                return begun
            self._note(wait=0.05)
        raise TimeoutError("messages are still on their way")

    def _begin(self, claimed: Claim) -> None:
        try:
            send = delivery.prepared(claimed)
        except delivery.Useless as useless:
            due_deliveries.note_done(claimed, skipped=str(useless))
            return
        except NotDelivered as error:
            self._failed(claimed, error)
            return
        except (DatabaseError, InterfaceError):
            raise
        except Exception as error:
            # This message cannot be made; the next one may be another matter.
            log.exception("notify.not_prepared", endpoint=str(claimed.endpoint))
            message = f"Preparing failed: {type(error).__name__}."
            self._failed(claimed, NotDelivered(message))
            return
        self._travelling[claimed.id] = (claimed, time.monotonic())
        threading.Thread(
            target=self._send, args=(claimed, send), name="notify-one", daemon=True
        ).start()

    def _send(self, claimed: Claim, send: Callable[[], int]) -> None:
        """In a thread of its own, without the database."""
        try:
            self._ended.put((claimed, send()))
        except NotDelivered as error:
            self._ended.put((claimed, error))
        except Exception as error:  # whatever it is, the delivery is tried again and the log knows
            log.exception("notify.failed", endpoint=str(claimed.endpoint))
            message = f"Sending failed: {type(error).__name__}."
            self._ended.put((claimed, NotDelivered(message)))

    def _note(self, *, wait: float = 0) -> None:
        """Write down what has ended; with `wait`, at most that many seconds for the first."""
        while self._travelling:
            try:
                claimed, ended = self._ended.get(block=wait > 0, timeout=wait or None)
            except queue.Empty:
                return
            if claimed.id not in self._travelling:
                continue  # given up already
            try:
                if gone := getattr(ended, "gone", ()):
                    devices.forget(gone)
                if isinstance(ended, NotDelivered):
                    self._failed(claimed, ended)
                else:
                    due_deliveries.note_done(claimed, code=ended)
            except (DatabaseError, InterfaceError):
                # Noted when the database is back; else it would be sent a second time.
                self._ended.put((claimed, ended))
                raise
            del self._travelling[claimed.id]
            wait = 0

    def _look_after(self) -> None:
        """Keep the claims of what is on its way, and give up what takes for ever."""
        now, patience = time.monotonic(), PATIENCE * float(settings.GATEPOST_SEND_SECONDS)
        for claimed, began in list(self._travelling.values()):
            if now - began > patience:
                self._failed(claimed, NotDelivered(f"It did not end within {patience:g} s."))
                del self._travelling[claimed.id]
        if self._travelling and now - self._renewed > due_deliveries.claim_seconds() / 3:
            due_deliveries.renew(list(self._travelling))
            self._renewed = now

    def _failed(self, claimed: Claim, error: NotDelivered) -> None:
        log.warning(
            "notify.not_delivered",
            endpoint=str(claimed.endpoint),
            news=str(claimed.news[0][0]),
            code=error.code,
            error=error.text,
        )
        due_deliveries.note_failure(claimed, error)

    def _turn(self) -> None:
        self._begun = 0
        with self._inside():
            self._begun = self.turn()
            self._tidy()

    def _pause(self) -> float:
        # Something is on its way: its end is noted soon, and makes room for the next.
        if self._begun or self._travelling:
            return 0.05
        return float(getattr(settings, "GATEPOST_NOTIFY_SECONDS", 1.0))

    def _tidy(self) -> None:
        """Once in a while what is long over is dropped."""
        if time.monotonic() - self._tidied > TIDY_SECONDS:
            self._tidied = time.monotonic()
            while fan_out.prune() and not self._loop.is_stopped:
                pass

    def _last_notes(self) -> None:
        until = time.monotonic() + 0.8
        while self._travelling and time.monotonic() < until:
            self._note(wait=0.1)

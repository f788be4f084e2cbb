"""Folders that could not be written when their threads came to rest: written once they can be.

In a thread of each worker's main process, apart from the sweep: a drive that hangs holds up only
this. Claims keep the workers apart.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import structlog
from celery.signals import worker_ready, worker_shutdown
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from checkpoints import store
from checkpoints.errors import ContentAway, GatepostError
from checkpoints.views import OwedFolder
from workers import forking

log = structlog.get_logger("gatepost.folders")
PER_TURN: Final = 20
# A storage that is away is asked again soon; damage stays until somebody mends it.
AWAY_SECONDS: Final = 30.0
DAMAGED_SECONDS: Final = 600.0


class Writer:
    """Writes what waits; `turn` once, or `start` for a thread that turns until `stop`.

    Each turn of its own thread happens inside of what `turn` gives.
    """

    def __init__(self, *, turn: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self._inside = turn
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._turn, name="folders", daemon=True)

    def start(self) -> None:
        """Begin to turn."""
        self._thread.start()

    def stop(self) -> None:
        """Begin with no other folder; one that is half written waits for the next who looks."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=1)

    def turn(self) -> int:
        """Write some of what waits, none once the storage refuses one; how many were written."""
        written = 0
        for _ in range(PER_TURN):
            owed = None if self._stop.is_set() else store.claim_folder()
            if owed is None:
                break
            # Only agents on `file` need what writes it.
            from . import folders

            try:
                folders.keep(owed.thread, owed.workspace)
            except (DatabaseError, InterfaceError):
                raise  # the claim runs out
            except Exception as error:
                if self._postponed(owed, error):
                    continue
                break
            store.folder_kept(owed.thread, by=owed.by)
            log.info("folder.written", thread=str(owed.thread))
            written += 1
        return written

    def _postponed(self, owed: OwedFolder, error: Exception) -> bool:
        """Put it off; whether others can be written nevertheless."""
        damaged = isinstance(error, GatepostError) and not isinstance(error, ContentAway)
        said = error.message if isinstance(error, GatepostError) else repr(error)
        log.warning("folder.waits", thread=str(owed.thread), error=said)
        store.postpone_folder(owed, seconds=DAMAGED_SECONDS if damaged else AWAY_SECONDS)
        return damaged

    def _turn(self) -> None:
        try:
            while not self._stop.is_set():
                try:
                    with self._inside():
                        written = self.turn()
                except (DatabaseError, InterfaceError) as error:
                    log.warning("folders.failed", error=str(error).strip())
                    connection.close()
                    written = 0
                except Exception:
                    log.exception("folders.failed")
                    written = 0
                self._stop.wait(0 if written == PER_TURN else self._pause())
        finally:
            connection.close()

    @staticmethod
    def _pause() -> float:
        return float(getattr(settings, "GATEPOST_FOLDERS_SECONDS", 5.0))


_writers: list[Writer] = []


def start_writing(**_kwargs: Any) -> None:
    """Begin with the worker."""
    writer = Writer(turn=forking.Turn().taken)
    writer.start()
    _writers.append(writer)


def stop_writing(**_kwargs: Any) -> None:
    """End with the worker."""
    while _writers:
        _writers.pop().stop()


worker_ready.connect(start_writing, dispatch_uid="dashboard.capsule.waiting.start")
worker_shutdown.connect(stop_writing, dispatch_uid="dashboard.capsule.waiting.stop")

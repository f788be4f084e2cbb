"""Folders that could not be written when their threads came to rest: written once they can be.

The sweep says when some are due. They are written apart from it, in a thread that is there only as
long as there is something to write: a drive that hangs holds up nothing else, and none of the
database's connections is kept for what is rare. Claims keep the workers apart.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final

import structlog
from django.db import DatabaseError, InterfaceError

from checkpoints import store
from checkpoints.errors import ContentAway, GatepostError
from checkpoints.views import OwedFolder
from dashboard.threads.capsules import folders
from workers.slot import forks
from workers.slot.side_threads import side_thread

log = structlog.get_logger("gatepost.folders")
# A storage that is away is asked again soon; damage stays until somebody mends it.
AWAY_SECONDS: Final = 30.0
DAMAGED_SECONDS: Final = 600.0


def write_due(*, turn: Callable[[], AbstractContextManager[None]] = nullcontext) -> int:
    """Write what is due until the storage refuses one; how many were written.

    Each folder is written inside of what `turn` gives.
    """
    written = 0
    while True:
        with turn():
            owed = store.claim_folder()
            if owed is None:
                return written
            try:
                folders.keep(owed.thread, owed.workspace)
            except (DatabaseError, InterfaceError):
                raise  # the claim runs out
            except Exception as error:
                if not _postponed(owed, error):
                    return written
            else:
                store.folder_kept(owed.thread, by=owed.by)
                log.info("folder.written", thread=str(owed.thread))
                written += 1


def _postponed(owed: OwedFolder, error: Exception) -> bool:
    """Put it off; whether others can be written nevertheless."""
    damaged = isinstance(error, GatepostError) and not isinstance(error, ContentAway)
    message = error.message if isinstance(error, GatepostError) else repr(error)
    log.warning("folder.waits", thread=str(owed.thread), error=message)
    store.postpone_folder(owed, seconds=DAMAGED_SECONDS if damaged else AWAY_SECONDS)
    return damaged


class Writer:
    """Writes what is due in a thread of its own when it is called."""

    def __init__(self) -> None:
        self._turns = forks.Turn()
        self._thread: threading.Thread | None = None

    def call(self) -> None:
        """Begin, unless it is at it; called by one thread alone."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._write, name="folders", daemon=True)
            self._thread.start()

    def _write(self) -> None:
        with side_thread(log, "folders.failed"):
            write_due(turn=self._turns.taken)

"""News of a written move for the floors above, after its commit; a worker may set out earlier."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from ..limits import LATE_COMMIT_SECONDS
from ..signals import Store, thread_changed, thread_coming, thread_queued


class Calling:
    """A worker that is told of what is about to be queued; see `calling`."""

    def __init__(self) -> None:
        self._at = 0.0
        self._answers: list[Callable[[], bool]] = []

    def call(self, thread: UUID, queue: str) -> None:
        """Let a worker set out for a thread that this transaction has locked and will queue.

        Nothing where somebody else commits: it may be long until then.
        """
        if len(connections[DEFAULT_DB_ALIAS].atomic_blocks) != 1:
            return
        self._at = time.monotonic()
        told = thread_coming.send_robust(sender=None, thread_id=thread, queue=queue)
        self._answers = [answer if callable(answer) else _unheard for _, answer in told]

    def comes(self) -> bool:
        """Whether somebody is still to be found at the row, or on the way there."""
        heard = [answer() for answer in self._answers]
        return any(heard) and time.monotonic() - self._at < LATE_COMMIT_SECONDS


def _unheard() -> bool:
    return False


@contextmanager
def calling() -> Iterator[Calling]:
    """Around a transaction that may queue a thread: lets a worker set out before the commit.

    The way to a slot takes about as long as writing and flushing. Whoever arrives waits for the
    lock of the row, and finds nothing to do if the transaction failed.
    """
    one = Calling()
    try:
        yield one
    finally:
        one.comes()  # whatever became of it, the answer of the broker is not left lying


def announce(
    thread: UUID,
    workspace: UUID,
    seq: int,
    *,
    queue: str = "",
    soon: bool = False,
    called: Calling | None = None,
    database: BaseDatabaseWrapper | None = None,
) -> None:
    """Tell the floors above after commit; `queue` when a worker should look.

    `soon`: more is about to follow, and the processors have that to do first. `called`: for this
    queue already. `database` is the connection, where it was looked up already.
    """
    # The worker first: it has more to do than the pages.
    if queue:
        transaction.on_commit(partial(_ring, thread, queue, called))
    told = {"thread_id": thread, "workspace": workspace, "seq": seq, "soon": soon}
    if (database or connections[DEFAULT_DB_ALIAS]).in_atomic_block:
        transaction.on_commit(partial(thread_changed.send_robust, sender=Store, **told))
    else:
        thread_changed.send_robust(sender=Store, **told)


def _ring(thread: UUID, queue: str, called: Calling | None) -> None:
    # Nobody waits at the row for ever: after a commit that took long another one is called.
    if called is None or not called.comes():
        thread_queued.send_robust(sender=None, thread_id=thread, queue=queue)

"""News of a written move for the floors above, after its commit; a worker may set out earlier."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from ..limits import LATE_COMMIT_SECONDS
from ..signals import Store, thread_changed, thread_coming, thread_queued


@dataclass(frozen=True, slots=True)
class Called:
    """That a worker was told of what is about to be queued; `at` is monotonic."""

    at: float

    @property
    def comes(self) -> bool:
        """Whether it is still to be found at the row, or on its way there."""
        return time.monotonic() - self.at < LATE_COMMIT_SECONDS


def call_ahead(thread: UUID, queue: str) -> Called | None:
    """Let a worker set out for a thread that this transaction has locked and is about to queue.

    The way to a slot takes about as long as writing and flushing. Whoever arrives waits for the
    lock of the row, and finds nothing to do if the transaction fails. None where nobody heard, or
    somebody else commits: it may be long until then.
    """
    if len(connections[DEFAULT_DB_ALIAS].atomic_blocks) != 1:
        return None
    called = Called(time.monotonic())
    told = thread_coming.send_robust(sender=None, thread_id=thread, queue=queue)
    return called if any(answer is True for _, answer in told) else None


def announce(
    thread: UUID,
    workspace: UUID,
    seq: int,
    *,
    queue: str = "",
    soon: bool = False,
    called: Called | None = None,
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


def _ring(thread: UUID, queue: str, called: Called | None) -> None:
    # Nobody waits at the row for ever: after a commit that took long another one is called.
    if called is None or not called.comes:
        thread_queued.send_robust(sender=Store, thread_id=thread, queue=queue)

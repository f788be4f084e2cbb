"""News of a written move for the floors above, after its commit."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from checkpoints.signals import Store, child_ended, thread_changed, thread_queued


def announce(
    thread: UUID,
    workspace: UUID,
    seq: int,
    *,
    queue: str = "",
    more_follows: bool = False,
    database: BaseDatabaseWrapper | None = None,
) -> None:
    """Announce to the floors above after commit; `queue` when a worker should look.

    `more_follows`: the next change is about to come, and the processors have that to do first.
    `database` is the connection, where it was looked up already.
    """
    # The worker first: it has more to do than the pages.
    if queue:
        transaction.on_commit(
            partial(thread_queued.send_robust, sender=Store, thread_id=thread, queue=queue)
        )
    payload = {
        "thread_id": thread,
        "workspace": workspace,
        "seq": seq,
        "more_follows": more_follows,
    }
    database = database or connections[DEFAULT_DB_ALIAS]
    if database.in_atomic_block:
        transaction.on_commit(partial(thread_changed.send_robust, sender=Store, **payload))
    elif database.alias == DEFAULT_DB_ALIAS:  # that of a play has another name: nobody looks at it
        thread_changed.send_robust(sender=Store, **payload)


def announce_end(thread: UUID, parent: UUID) -> None:
    """Announce to the floors above after commit that a child of `parent` has ended."""
    payload = {"thread_id": thread, "parent": parent}
    transaction.on_commit(partial(child_ended.send_robust, sender=Store, **payload))

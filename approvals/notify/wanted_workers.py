"""Work that waits where no worker lives: news that start one, for endpoints that want them."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from uuid import UUID

import structlog
from django.db import transaction
from uuid_utils.compat import uuid7

from checkpoints import queries, store
from checkpoints.agent_versions import EXTERNAL_QUEUE
from checkpoints.breakers.rule import STOPPED_BY
from checkpoints.ephemeral import copies
from checkpoints.errors import ContentAway
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.queries.installation.live_code import NOT_AHEAD, WORKER_ALIVE_SECONDS
from checkpoints.tables.readers import record_of

from .. import outbox

SQL = sql_file(__file__, external=EXTERNAL_QUEUE, stopped_by=STOPPED_BY, not_ahead=NOT_AHEAD)
log = structlog.get_logger("gatepost.notify")
KIND: Final = "workers.wanted"
# Of the duty that notes the announcement, before a digest of workspace and queue.
_ANNOUNCED: Final = "wanted:"
# After so long the same is announced again: a starter may have failed.
AGAIN_SECONDS: Final = 60.0
COUNT_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class WantedWorkers:
    """Threads of a workspace that wait in a queue without a worker, up to COUNT_MAX of a kind."""

    workspace_id: UUID
    queue: str
    threads: int
    oldest_seconds: float

    @property
    def duty(self) -> str:
        """The duty that is held for a while after the announcement."""
        digest = sha256(f"{self.workspace_id} {self.queue}".encode()).hexdigest()
        return f"{_ANNOUNCED}{digest[:40]}"


def announce_wanted_workers() -> int:
    """Put one news for each queue that waits for a worker in the outbox; how many.

    Once, and again each AGAIN_SECONDS while it waits. Work that waits anew, after a worker lived or
    the queue was empty, is announced immediately.
    """
    wanted = [record_of(WantedWorkers, row) for row in _waiting()]
    count = sum(_announce(one) for one in wanted)
    still = {one.duty for one in wanted}
    for duty in queries.duties_held(_ANNOUNCED):
        if duty not in still:
            store.end_duty(duty)
    return count


def _waiting() -> list[tuple[object, ...]]:
    values = (WORKER_ALIVE_SECONDS, COUNT_MAX, COUNT_MAX, _with_messages())
    return list(fetch_named(SQL.waiting, values))


def _with_messages() -> list[UUID]:
    """Ephemeral threads for which messages wait in memory."""
    try:
        return [thread for thread, _ in copies.waiting(older_than_seconds=0)]
    except ContentAway:
        return []  # they are away as well


def _announce(wanted: WantedWorkers) -> bool:
    with transaction.atomic():
        # A duty that each call takes in a name of its own: one of them gets it.
        if not store.claim_duty(wanted.duty, owner=str(uuid7()), seconds=AGAIN_SECONDS):
            return False
        seconds = round(wanted.oldest_seconds, 1)
        log.info(KIND, queue=wanted.queue, threads=wanted.threads, seconds=seconds)
        what = (
            f"{wanted.threads} {'thread waits' if wanted.threads == 1 else 'threads wait'} in the "
            f"queue {wanted.queue}, the first for {wanted.oldest_seconds:.0f} s, and no worker "
            "serves it."
        )
        data = {"queue": wanted.queue, "threads": wanted.threads, "oldest_seconds": seconds}
        outbox.add(KIND, workspace=wanted.workspace_id, thread=None, data={"what": what} | data)
    return True

"""Threads of agents that are only watched: the keys of their spans, and the record of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from checkpoints.agent_versions import EXTERNAL_QUEUE
from checkpoints.records import NewActivity

from ..activities import Outcome, add_activities
from ..statement.locks import lock_thread
from ..statement.moves import Move, perform

AT_ONCE: Final = 100


@contextmanager
def locked_keys(workspace: UUID, keys: Sequence[str]) -> Iterator[dict[str, UUID]]:
    """Yield {key: thread} of the known ones; nobody else adds one of `keys` meanwhile.

    One transaction: a thread that is started in it is committed with its keys, or not at all.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        for key in sorted(keys):
            cursor.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(%s::text, 0))",
                (f"gatepost.watched|{workspace}|{key}",),
            )
        cursor.execute(
            "SELECT key, thread_id FROM gp_watched WHERE workspace_id = %s::uuid "
            "AND key = ANY(%s::text[])",
            (workspace, list(keys)),
        )
        yield dict(cursor.fetchall())


def keep_keys(workspace: UUID, keys: Sequence[str], thread: UUID) -> None:
    """Assign spans with these keys to a thread."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_watched (workspace_id, key, thread_id) SELECT %s::uuid, key, %s::uuid "
            "FROM unnest(%s::text[]) AS key ON CONFLICT DO NOTHING",
            (workspace, thread, list(keys)),
        )


def record_watched(thread: UUID, made: Sequence[tuple[NewActivity, Outcome]], *, owner: str) -> int:
    """Record activities that an agent reports, whatever the thread's status; how many were new.

    No lease guards it: nothing is decided by it. A position that has an activity keeps it.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        # The lock comes first: two requests may bring the same spans.
        lock_thread(thread)
        cursor.execute(
            "SELECT a.key FROM gp_activity a JOIN unnest(%s::text[], %s::text[], %s::integer[]) "
            "AS x (node, key, step) ON (a.node, a.key, a.step) = (x.node, x.key, x.step) "
            "WHERE a.thread_id = %s::uuid AND a.branch = 0 AND a.index = 0",
            (
                [activity.position.node for activity, _ in made],
                [activity.position.key for activity, _ in made],
                [activity.position.step for activity, _ in made],
                thread,
            ),
        )
        known = {key for (key,) in cursor.fetchall()}
        by_key = {activity.position.key: (activity, outcome) for activity, outcome in made}
        fresh = [one for key, one in by_key.items() if key not in known]
        for at in range(0, len(fresh), AT_ONCE):
            move = Move(thread, f"th.queue = '{EXTERNAL_QUEUE}'")
            add_activities(move, owner, fresh[at : at + AT_ONCE])
            perform(move)
        return len(fresh)

"""The position of an export of spans in the event feed, with counts of spans sent and dropped."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.db import connection

from checkpoints.queries.installation.event_feed import FeedCursor

_NIL: Final = UUID(int=0)


def begin_export(name: str) -> FeedCursor:
    """The cursor of an export; a first one begins with the next event.

    A cursor ahead of all transactions was made by another server: it begins anew as well.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_span_export AS x (name, xid, thread_id, seq) SELECT %s::varchar, "
            "pg_snapshot_xmin(pg_current_snapshot())::text::bigint, %s::uuid, 0 "
            "ON CONFLICT (name) DO UPDATE SET xid = EXCLUDED.xid, thread_id = EXCLUDED.thread_id, "
            "seq = EXCLUDED.seq WHERE x.xid > EXCLUDED.xid",
            (name, _NIL),
        )
        cursor.execute(
            "SELECT xid, thread_id, seq FROM gp_span_export WHERE name = %s::varchar", (name,)
        )
        return FeedCursor(*cursor.fetchone())


def move_export(name: str, old: FeedCursor, new: FeedCursor, *, sent: int, dropped: int) -> bool:
    """Move the cursor and count spans; False where somebody else has moved it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_span_export SET xid = %s::bigint, thread_id = %s::uuid, seq = %s::bigint, "
            "sent = sent + %s::bigint, dropped = dropped + %s::bigint, "
            "moved_at = clock_timestamp() WHERE name = %s::varchar AND xid = %s::bigint "
            "AND thread_id = %s::uuid AND seq = %s::bigint",
            (new.xid, new.thread, new.seq, sent, dropped, name, old.xid, old.thread, old.seq),
        )
        return bool(cursor.rowcount)

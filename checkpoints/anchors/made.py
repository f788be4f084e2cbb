"""Making anchors, and reading them again. One worker at a time makes them: a duty keeps others off.

Costs follow what has happened since the last anchor, never how much there is.
"""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from ..postgres.named_rows import fetch_named
from ..postgres.sql_files import sql_file
from ..state import deltas
from .form import FIRST, Anchor, hash_of, heads_hash

SQL = sql_file(__file__)
EVENTS_AT_ONCE: Final = 20_000
AGE_MAX: Final = 2_000_000_000
_NIL: Final = UUID(int=0)
_COLUMNS: Final = (
    "SELECT number, at, encode(previous, 'hex') AS previous, heads::text, "
    "encode(heads_hash, 'hex') AS heads_hash, encode(hash, 'hex') AS hash FROM gp_anchor "
)


def make_anchor(*, events: int = EVENTS_AT_ONCE) -> tuple[Anchor, bool]:
    """Write the next anchor; with whether more events wait for another one.

    Of two concurrent callers one writes, and the other raises IntegrityError.
    """
    with transaction.atomic():
        [last] = fetch_named(SQL.newest)
        cursor = (last.xid or 0, last.thread_id or _NIL, last.seq or 0)
        if cursor[0] > last.horizon:
            # Another server wrote the cursor, before a restore: anchor everything once more.
            cursor = (0, _NIL, 0)
        moved = fetch_named(SQL.moved, (*cursor, events))
        # Ages of transactions reach 2^31 back; before that every workspace comes once more.
        since = cursor[0] if last.horizon - cursor[0] < AGE_MAX else 0
        workspaces = fetch_named(SQL.workspaces, (since, since % 2**32))
        heads = [_head("workspace", row) for row in workspaces]
        heads += [_head("thread", row) for row in moved]
        if moved:
            cursor = (moved[0].last_xid, moved[0].last_thread, moved[0].last_seq)
        number, previous = (last.number or 0) + 1, bytes(last.hash or b"").hex() or FIRST
        # A clock that stepped back must not let an anchor come before the one that it names.
        at = max(last.now, (last.at or 0) + 1)
        digest = heads_hash(heads)
        anchor = Anchor(number, at, previous, heads, digest, hash_of(number, at, previous, digest))
        _insert(anchor, cursor)
    return anchor, bool(moved) and moved[0].n >= events


def _head(of: str, row: Any) -> dict[str, Any]:
    return {
        "of": of,
        "id": str(row.id),
        "chain": str(row.chain),
        "seq": row.seq,
        "hash": row.hash,
    }


def _insert(anchor: Anchor, cursor: tuple[int, UUID, int]) -> None:
    with connection.cursor() as db:
        db.execute(
            "INSERT INTO gp_anchor (number, at, previous, heads, heads_hash, hash, xid, thread_id, "
            "seq) VALUES (%s::bigint, %s::bigint, decode(%s::text, 'hex'), %s::jsonb, "
            "decode(%s::text, 'hex'), decode(%s::text, 'hex'), %s::bigint, %s::uuid, %s::bigint)",
            (
                anchor.number,
                anchor.at,
                anchor.previous,
                deltas.canonical(list(anchor.heads)).decode(),
                anchor.heads_hash,
                anchor.hash,
                *cursor,
            ),
        )


def anchors_after(number: int, *, limit: int) -> list[Anchor]:
    """The anchors behind this number, in order."""
    sql = f"{_COLUMNS} WHERE number > %s::bigint ORDER BY number LIMIT %s"
    return [_anchor(row) for row in fetch_named(sql, (number, limit))]


def anchor_of(number: int) -> Anchor | None:
    """One anchor; None where there is none."""
    rows = fetch_named(f"{_COLUMNS} WHERE number = %s::bigint", (number,))
    return _anchor(rows[0]) if rows else None


def _anchor(row: Any) -> Anchor:
    heads = deltas.decode(row.heads)
    return Anchor(row.number, row.at, row.previous, heads, row.heads_hash, row.hash)

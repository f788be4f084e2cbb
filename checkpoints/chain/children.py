"""Children beside the log of their parent: each as it was started, and as it was joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import connection

from ..state import deltas
from ..states import EventKind, Proof, kinds_of
from .events import Event
from .links import Broken

NAMING: Final = kinds_of(Proof.CHILD)


class Children:
    """Compares what a parent's events name of its children with the children themselves.

    A thread that was imported may have left its children behind: of what it brought, only those
    are compared that are its children here. One that came by itself, or to another workspace, is
    none.
    """

    def __init__(self, thread: UUID, workspace: UUID) -> None:
        self._thread = thread
        self._workspace = workspace
        self._brought: int | None = None

    def see(self, events: Sequence[Event]) -> None:
        """Check the children that these events name; raises Broken."""
        for event in events:
            if event.kind not in NAMING:
                continue
            data = deltas.decode(event.data)
            named = [data] if event.kind == EventKind.THREAD_HANDED_OFF else data["children"]
            rows = _ROWS[EventKind(event.kind)](named)
            for child in named:
                row = rows.get(UUID(child["thread"]))
                expected = _as_named(event, child, self._thread, self._workspace)
                if row is None or row[0] != expected[0]:
                    if self._was_brought(event):
                        continue
                    if row is None:
                        raise Broken(event.seq, "a child it names is missing")
                if row != expected:
                    raise Broken(event.seq, "a child it names is not as it was then")

    def end(self, last_seq: int) -> None:
        """All was said with the events."""

    def _was_brought(self, event: Event) -> bool:
        if self._brought is None:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT imported_seq FROM gp_thread WHERE id = %s::uuid", (self._thread,)
                )
                self._brought = int(cursor.fetchone()[0])
        return event.seq <= self._brought


def _as_named(
    event: Event, child: Mapping[str, Any], thread: UUID, workspace: UUID
) -> tuple[Any, ...]:
    """(whose it is, and what else is compared), as the rows of these kinds say it."""
    if event.kind == EventKind.CHILD_STARTED:
        return (thread, workspace), child["chain"]
    if event.kind == EventKind.THREAD_HANDED_OFF:
        return (thread, workspace), child["chain"], child["checkpoint"]
    return (thread, workspace), child["hash"], child["state_hash"]


def _started(named: Sequence[Mapping[str, Any]]) -> dict[UUID, tuple[Any, ...]]:
    return _rows(
        "SELECT th.id, th.parent, th.workspace_id, th.chain_id::text FROM gp_thread th "
        "WHERE th.id = ANY(%s::uuid[])",
        ([child["thread"] for child in named],),
    )


def _handed_off(named: Sequence[Mapping[str, Any]]) -> dict[UUID, tuple[Any, ...]]:
    return _rows(
        "SELECT th.id, th.base, th.workspace_id, th.chain_id::text, th.forked_from::text "
        "FROM gp_thread th WHERE th.id = ANY(%s::uuid[])",
        ([heir["thread"] for heir in named],),
    )


def _joined(named: Sequence[Mapping[str, Any]]) -> dict[UUID, tuple[Any, ...]]:
    """Of each child the hash of the event, and of the state at the checkpoint, named here."""
    return _rows(
        "SELECT th.id, th.parent, th.workspace_id, encode(e.hash, 'hex'), "
        "encode(c.state_hash, 'hex') FROM unnest("
        "%s::uuid[], %s::bigint[], %s::uuid[]) AS n (thread, seq, checkpoint) "
        "JOIN gp_thread th ON th.id = n.thread "
        "LEFT JOIN gp_event e ON e.thread_id = n.thread AND e.seq = n.seq "
        "LEFT JOIN gp_checkpoint c ON c.thread_id = n.thread AND c.id = n.checkpoint",
        (
            [child["thread"] for child in named],
            [child["seq"] for child in named],
            [child["checkpoint"] for child in named],
        ),
    )


def _rows(sql: str, params: Sequence[Any]) -> dict[UUID, tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return {
            ident: ((owner, workspace), *compared)
            for ident, owner, workspace, *compared in cursor.fetchall()
        }


_ROWS: Final = {
    EventKind.CHILD_STARTED: _started,
    EventKind.CHILD_JOINED: _joined,
    EventKind.THREAD_HANDED_OFF: _handed_off,
}

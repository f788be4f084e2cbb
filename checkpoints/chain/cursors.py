"""Verify that each saved cursor matches the last event that records it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import batched
from typing import Any
from uuid import UUID

from ..log.seals import LEASE_V
from ..postgres.named_rows import fetch_named
from ..states import EventKind
from .events import Event
from .links import Broken, fits

_LEASES = frozenset({EventKind.LEASE_ACQUIRED, EventKind.LEASE_TAKEN_OVER})
_FAILED = frozenset({EventKind.ACTIVITY_FAILED, EventKind.MODEL_FAILED})
# A cursor has up to 1 MiB.
_WHOLE_AT_ONCE = 10
_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class _SavedCursor:
    """A cursor as its event recorded it: hash, input it belongs to, time, attempt."""

    cursor: str
    input: str
    at: datetime
    attempt: int


@dataclass(frozen=True, slots=True)
class _Stand:
    """The last events of one unfinished activity; `seq` is the last event that names it.

    `untold`: before that a worker of a former version may have kept a cursor, without an event.
    """

    seq: int
    saved: _SavedCursor | None
    untold: bool = False


class Cursors:
    """Follows each activity from one cursor to the next, and compares the last one with its row.

    A worker of a former version kept cursors without events. The log says when such a one held
    the lease, and only what it can have written meanwhile is believed. What is done is forgotten
    here: memory holds calls that are open or failed.
    """

    def __init__(self, thread: UUID) -> None:
        self._thread = thread
        self._calls: dict[UUID, _Stand] = {}
        self._former = False
        self._former_until = 0  # the last event while such a worker held the lease

    def see(self, events: Sequence[Event], naming: Mapping[int, Mapping[str, Any]]) -> None:
        """Take over what these events say; `naming` are the data of those that name activities."""
        for event in events:
            if event.kind in _LEASES:
                self._former = event.v < LEASE_V
            if self._former:
                self._former_until = event.seq
            if event.seq in naming:
                self._follow(event, naming[event.seq])

    def _follow(self, event: Event, data: Mapping[str, Any]) -> None:
        ident, attempt = UUID(data["activity"]), data.get("attempt", 1)
        if event.kind == EventKind.CURSOR_KEPT:
            saved = _SavedCursor(data["cursor_hash"], data["input_hash"], event.at, attempt)
            self._calls[ident] = _Stand(event.seq, saved)
        elif event.kind in _FAILED:
            was = self._calls.get(ident, _Stand(1, None))
            # A first call finds nothing that it could leave as it is.
            untold = attempt > 1 and self._may_be_untold(was)
            self._calls[ident] = _Stand(event.seq, was.saved, untold)
        else:
            self._calls.pop(ident, None)

    def _may_be_untold(self, stand: _Stand) -> bool:
        return stand.untold or self._former_until >= stand.seq

    def begun_again(self, activity: UUID) -> None:
        """Refuse a failed call that is at work again, and has recorded no cursor; raises Broken."""
        stand = self._calls.get(activity)
        if stand is not None and stand.saved is None and not self._may_be_untold(stand):
            raise Broken(stand.seq, "the activity it names had failed, and was begun again")

    def end(self, last_seq: int, n_cursors: int) -> None:
        """Compare the open calls; refuse a stored cursor (of `n_cursors`) that no event names."""
        self._check_kept()
        if n_cursors:
            self._check_untold(last_seq)

    def _check_kept(self) -> None:
        positions = [i for i, s in self._calls.items() if s.saved and not self._may_be_untold(s)]
        for some in batched(positions, _WHOLE_AT_ONCE):
            result = fetch_named(
                "SELECT id, state, attempts, salt, input_hash, started_at, cursor::text "
                "FROM gp_activity WHERE id = ANY(%s::uuid[]) AND state IN ('started', 'failed')",
                (list(some),),
            )
            for row in result:
                stand = self._calls[row.id]
                saved = stand.saved
                if saved is None:
                    continue
                at_work = row.state == "started"
                if at_work and (row.attempts, row.started_at) != (saved.attempt, saved.at):
                    raise Broken(stand.seq, "the call whose cursor it kept was altered")
                if row.input_hash.hex() != saved.input:
                    continue  # it failed, asked otherwise: the cursor went with the question
                if row.cursor is None:
                    raise Broken(stand.seq, "the cursor of the activity it names is gone")
                if fits(stand.seq, bytes(row.salt), row.cursor).hex() != saved.cursor:
                    raise Broken(stand.seq, "the cursor of the activity it names was altered")

    def _check_untold(self, last_seq: int) -> None:
        after = UUID(int=0)
        while True:
            result = fetch_named(
                "SELECT id, tool, state, kind, input_hash FROM gp_activity "
                "WHERE thread_id = %s::uuid AND cursor IS NOT NULL AND id > %s::uuid "
                "ORDER BY id LIMIT %s",
                (self._thread, after, _AT_ONCE),
            )
            for row in result:
                stand = self._calls.get(row.id, _Stand(1, None))
                seq = stand.seq if row.id in self._calls else last_seq
                if row.state not in ("started", "failed") or row.kind in ("effect", "node"):
                    raise Broken(seq, f"{row.tool!r} has a cursor, and continues nowhere")
                payload = stand.saved is not None and stand.saved.input == row.input_hash.hex()
                if not payload and not self._may_be_untold(stand):
                    raise Broken(seq, f"no event records the cursor of {row.tool!r}")
            if len(result) < _AT_ONCE:
                return
            after = result[-1].id

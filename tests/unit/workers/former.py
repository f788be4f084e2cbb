"""A worker of the former version: it kept cursors without an event, each call with its own salt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from checkpoints import leases
from checkpoints.states import EventKind
from checkpoints.store import activities, cursors
from checkpoints.store.statement.moves import Move
from checkpoints.store.statement.text import row_sql
from workers.node import records as recording

_ENDED = row_sql(
    activities._COLUMNS,
    activities.OF_THREAD | {"finished_at": "t.last_at"},
    activities.upsert(
        cursor="CASE WHEN EXCLUDED.state = 'failed' AND EXCLUDED.args = gp_activity.args "
        "THEN gp_activity.cursor END"
    ),
)


@contextmanager
def former_version() -> Iterator[None]:
    """Whatever takes a lease meanwhile works as before cursors were events."""
    perform, left_by = cursors.perform, recording.left_by

    def without_event(move: Move) -> Any:
        move.events = [event for event in move.events if event.kind != EventKind.CURSOR_KEPT]
        return perform(move)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leases, "LEASE_V", 1)
        patch.setattr(cursors, "perform", without_event)
        patch.setattr(recording, "left_by", lambda *args: (left_by(*args)[0], {}))
        patch.setattr(activities, "_ENDED", _ENDED)
        yield

"""Cursors: where a long activity stands, set as often as it likes, saved as often as is useful.

An activity sets it after each item; the engine keeps that under the lease, at most once
a second or after a number of items. Called again after a crash, a failure or a stop of its worker,
the function is given the saved cursor and continues from there. A cursor that was not saved yet is
lost with the process: so much may be fetched once more, never more. Each that is kept is an event
(`cursor.kept`) with its hash: nobody can move it past the worker unseen by `verify`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checkpoints.records import CURSOR_BYTES
from checkpoints.state import deltas
from checkpoints.views import ActivityRow

from ..authoring.checks import shown
from ..authoring.errors import StepFailed
from ..authoring.frozen import plain
from ..step.advice import storable
from .scratch import Stamp

KEEP_SECONDS = 1.0


@dataclass
class CursorState:
    """The cursors of one call of an activity; `former` is the last call's, as canonical JSON."""

    former: bytes | None = None
    newest: bytes | None = None  # None: what was set last is saved
    calls: int = 0
    kept_at: float = field(default_factory=lambda: time.monotonic())
    # The scratch files that the newest cursor names, as they were when it was set.
    stamps: Mapping[Path, Stamp] = field(default_factory=dict)

    @property
    def cursor(self) -> Any:
        """The cursor of a former call, as a copy; None where there is none."""
        return None if self.former is None else deltas.decode(self.former.decode())

    def update(
        self, cursor: Any, every: int | None, stamps: Mapping[Path, Stamp] | None = None
    ) -> bool:
        """Take a cursor in; whether it is to be kept now."""
        value = plain(cursor)
        storable(value, "This cursor", at_most=CURSOR_BYTES)
        # As bytes: the author's list grows on, and what is kept stays as it was given.
        self.newest = deltas.canonical(value)
        self.stamps = stamps or {}
        self.calls += 1
        if every is not None and self.calls >= every:
            return True
        return time.monotonic() - self.kept_at >= KEEP_SECONDS

    def take(self) -> bytes | None:
        """Take the cursor that is to be saved; None for nothing."""
        if self.newest is None:
            return None
        taken, self.newest, self.calls = self.newest, None, 0
        self.kept_at = time.monotonic()
        return taken


def left_by(known: ActivityRow | None, value: Any) -> tuple[bytes | None, dict[str, bytes]]:
    """(the cursor that a former call with the same arguments left behind, its salt).

    Under another salt the event that seals the cursor would no longer fit the row.
    """
    if known is None or known.cursor is None or known.state not in ("started", "failed"):
        return None, {}
    if deltas.canonical(known.args) != deltas.canonical(value):
        return None, {}
    return deltas.canonical(known.cursor), {"salt": known.salt} if known.salt else {}


def check_cursor(kind: str, every: Any) -> None:
    """Refuse a cursor where none can be kept, and a count that is none."""
    if kind == "effect":
        raise StepFailed(
            "A tool keeps no cursor: what it did so far is known outside only. Make one effect of "
            "each item, or let the tool find out by its key where it stands."
        )
    if every is not None and (type(every) is not int or every < 1):
        raise StepFailed(f"every= takes a number of items from 1, not {shown(every)}.")

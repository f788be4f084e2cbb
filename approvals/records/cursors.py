"""Cursors: a place in a walk through the events, and of exports the moment that they are of."""

from __future__ import annotations

import base64
import binascii
import json
import re
from datetime import UTC, datetime
from typing import Final, NamedTuple
from uuid import UUID

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas

XID_MAX: Final = 2**63 - 1
SEQ_MAX: Final = 2**62
LONG_AGO: Final = datetime(1, 1, 1, tzinfo=UTC)
NEVER: Final = datetime(9999, 12, 31, tzinfo=UTC)
_MOMENT: Final = re.compile(r"([0-9]{1,19}):([0-9]{1,19}):((?:[0-9]{1,19}(?:,[0-9]{1,19})*)?)")


class Position(NamedTuple):
    """A place in a walk: behind this event."""

    at: datetime
    thread: UUID
    seq: int
    xid: int


class Cursor(NamedTuple):
    """A place, and the moment whose events are walked through; "" of a search, which has none."""

    position: Position
    moment: str


BEFORE: Final = Position(LONG_AGO, UUID(int=0), -1, 0)
BEHIND: Final = Position(NEVER, UUID(int=2**128 - 1), SEQ_MAX, XID_MAX)


def write_cursor(walk: str, position: Position, moment: str = "") -> str:
    """The text that `read_cursor` reads; without a moment it has no place for one."""
    key = [walk, position.at.isoformat(), str(position.thread), position.seq, position.xid]
    key += [moment] if moment else []
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def read_cursor(walk: str, cursor: str) -> Cursor:
    """The place that a cursor names; raises InvalidValue for that of another walk."""
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        of, at, thread, seq, xid, *more = deltas.decode(raw.decode())
        position = Position(datetime.fromisoformat(at), UUID(thread), int(seq), int(xid))
        inside = 0 <= position.xid <= XID_MAX and -1 <= position.seq <= SEQ_MAX
        (moment,) = more or ("",)
        if of != walk or not inside or position.at.tzinfo is None or not _is_moment(moment):
            raise ValueError(of)
    except (binascii.Error, ValueError, TypeError, AttributeError, InvalidValue) as error:
        raise InvalidValue("cursor", "is not one that an answer to this question named") from error
    return Cursor(position, moment)


def _is_moment(text: str) -> bool:
    """Return whether PostgreSQL would read it: bounds, and open transactions between, in order."""
    if not text:
        return True
    parts = _MOMENT.fullmatch(text)
    if parts is None:
        return False
    least, end = int(parts[1]), int(parts[2])
    numbers = [least, *(int(n) for n in parts[3].split(",") if n), end]
    return 0 < least <= end <= XID_MAX and numbers == sorted(numbers) and end not in numbers[1:-1]

"""How long a node may work in one go: set by the engine, watched by the heartbeat."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from uuid import UUID

from .errors import GraphError

SECONDS_MAX = 30 * 86_400.0
# (lease token, node) -> since when; several nodes of a step work at the same time.
# By the token's integer: a UUID computes its hash in Python, anew each time.
_at_work: dict[tuple[int, str], AtWork] = {}


@dataclass(slots=True)
class AtWork:
    """A node at work: since when (monotonic), and its own limit where it has one."""

    node: str
    since: float
    seconds: float | None


class within:
    """A node works in here; once per node, so it is cheap.

    With `until_saved` one that ends well counts as at work anew until `saved`: its siblings' limits
    must not end the slot before its update is recorded.
    """

    __slots__ = ("_entry", "_key", "_until_saved")

    def __init__(
        self, token: UUID, node: str, seconds: float | None, *, until_saved: bool = False
    ) -> None:
        self._key, self._until_saved = (token.int, node), until_saved
        self._entry = AtWork(node, time.monotonic(), seconds)

    def __enter__(self) -> None:
        _at_work[self._key] = self._entry

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._until_saved and kind is None:
            _at_work[self._key] = AtWork(self._entry.node, time.monotonic(), None)
        else:
            _at_work.pop(self._key, None)


def saved(token: UUID, node: str) -> None:
    """Note that the update of a node that has ended is recorded, or never will be."""
    _at_work.pop((token.int, node), None)


def past(token: UUID, default: float) -> tuple[str, float] | None:
    """(node, its limit) when all that work under this lease are past their limits: the oldest.

    While a sibling is within its limit it may end and be saved: giving the lease up ends them all.
    """
    now = time.monotonic()
    # A copy: nodes begin and end in other threads meanwhile.
    entries = [entry for (lease, _), entry in list(_at_work.items()) if lease == token.int]
    if not entries or any(now - entry.since <= (entry.seconds or default) for entry in entries):
        return None
    oldest = min(entries, key=lambda entry: entry.since)
    return (oldest.node, oldest.seconds or default)


def check_limit(seconds: float | None, what: str) -> None:
    """Raise GraphError for a limit that is none."""
    if seconds is not None and not 0 < seconds <= SECONDS_MAX:
        raise GraphError(
            f"{what}={seconds!r} must be seconds above 0, at most thirty days of them."
        )

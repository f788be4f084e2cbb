"""How long a node may work in one go: noted by the engine, watched by the heart of its lease."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from uuid import UUID

from .errors import GraphError

SECONDS_MAX = 30 * 86_400.0
# Lease token -> the node at work. One node at a time works under a lease.
_at_work: dict[UUID, AtWork] = {}


@dataclass(frozen=True, slots=True)
class AtWork:
    """A node at work: since when (monotonic), and its own limit where it has one."""

    node: str
    since: float
    seconds: float | None


class within:
    """A node works in here; once per node, so it is cheap."""

    __slots__ = ("_entry", "_token")

    def __init__(self, token: UUID, node: str, seconds: float | None) -> None:
        self._token = token
        self._entry = AtWork(node, time.monotonic(), seconds)

    def __enter__(self) -> None:
        _at_work[self._token] = self._entry

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _at_work.pop(self._token, None)


def past(token: UUID, default: float) -> tuple[str, float] | None:
    """(node, its limit) when the node that works under this lease is past its limit."""
    found = _at_work.get(token)
    if found is None:
        return None
    limit = found.seconds or default
    return (found.node, limit) if time.monotonic() - found.since > limit else None


def at_work(token: UUID) -> str:
    """The node that works under this lease, or an empty string."""
    found = _at_work.get(token)
    return "" if found is None else found.node


def check_limit(seconds: float | None, what: str) -> None:
    """Raise GraphError for a limit that is none."""
    if seconds is not None and not 0 < seconds <= SECONDS_MAX:
        raise GraphError(
            f"{what}={seconds!r} must be seconds above 0, at most thirty days of them."
        )

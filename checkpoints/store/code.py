"""What people choose when a thread's code is not the one it stopped with: pin, unpin, accept."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from ..log.pins import CHOSEN
from ..states import EventKind, Status
from .statement.guards import refuse, versioned
from .statement.moves import Move, NewEvent, perform
from .statement.searchable import change_version

# The engine parked it for its code and wrote down what can be chosen; no rollback stopped half-way.
_PARKED: Final = (
    "th.status = 'attention' AND th.rollback IS NULL AND th.waiting_on -> 'choices' ? %s::text"
)
# Pinned since, and nobody has taken it: what was asked still stands.
_WAITS: Final = "th.status = 'queued' AND th.pinned AND th.waiting_on -> 'choices' ? %s::text"


def pin(thread: UUID, *, actor: str, expected_version: int | None = None) -> None:
    """attention -> queued, for workers with the very code that the thread stopped with.

    It stays pinned until `accept` or `unpin`, at later gates too.
    """
    move = versioned(Move(thread, _PARKED, ("pin",)), expected_version)
    move.to_status(Status.QUEUED)
    move.express("pinned", "TRUE")
    move.express("wish", "''")
    move.express("crash_count", "0")
    # What was asked stays to be read: the choice can be made anew while nobody has the code.
    move.events = [
        NewEvent(EventKind.CODE_PINNED, {}, actor),
        NewEvent(EventKind.THREAD_RETRIED, {}, actor),
    ]
    if perform(move) is None:
        refuse(thread, expected_version=expected_version, wanted="Pinning")


def unpin(thread: UUID, *, actor: str, expected_version: int | None = None) -> None:
    """Let any code take the thread again that may by its agent's rule; its status stays."""
    move = versioned(Move(thread, "th.pinned"), expected_version)
    move.express("pinned", "FALSE")
    move.express("version", "th.version + 1")
    move.events = [NewEvent(EventKind.CODE_UNPINNED, {}, actor)]
    if perform(move) is None:
        refuse(thread, expected_version=expected_version, wanted="Unpinning")


def accept(
    thread: UUID,
    *,
    former: UUID,
    version: UUID,
    fingerprint: str,
    queue: str,
    actor: str,
    expected_version: int | None = None,
) -> None:
    """attention -> queued with exactly the code `version`, instead of `former`, which it had.

    Also for a thread that was pinned and that nobody has taken since. For yet other code, installed
    meanwhile, it is asked again.
    """
    changed = {
        "from": str(former),
        "to": str(version),
        "fingerprint": fingerprint,
        "queue": queue,
        "by": CHOSEN,
    }
    both = (
        NewEvent(EventKind.CODE_CHANGED, changed, actor),
        NewEvent(EventKind.THREAD_RETRIED, {}, actor),
    )
    for where, events in ((_PARKED, both), (_WAITS, both[:1])):
        guard = (
            f"{where} AND th.waiting_on ->> 'version' = %s::text AND th.agent_version_id = %s::uuid"
        )
        move = versioned(Move(thread, guard, ("accept", str(version), former)), expected_version)
        move.to_status(Status.QUEUED)
        move.set("agent_version_id", version)
        change_version(move, former=former, version=version)
        move.set("queue", queue)
        move.express("pinned", "FALSE")
        move.express("wish", "''")
        move.express("waiting_on", "NULL")
        move.express("crash_count", "0")
        move.events = list(events)
        if perform(move) is not None:
            return
    refuse(thread, expected_version=expected_version, wanted="Accepting other code")

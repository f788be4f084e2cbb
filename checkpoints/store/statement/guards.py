"""What verbs of people have in common: which statuses, which version, why a refusal.

Every verb has one shape: guarded UPDATE, look at the row count, event in the same transaction,
signal on commit. A refusal is explained from the row as it is now.
"""

from __future__ import annotations

from uuid import UUID

from checkpoints.errors import InvalidValue, NotAllowedNow, NotFound, StaleVersion
from checkpoints.limits import NAME_MAX, NODE_MAX, TITLE_MAX
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.state import deltas
from checkpoints.states import Status

from .moves import Move

CLOSED = "This thread is closed: its content was erased, or is about to be."


def in_statuses(statuses: tuple[Status, ...] | frozenset[Status]) -> str:
    """The condition that the thread has one of these statuses."""
    return "th.status IN (" + ", ".join(f"'{s}'" for s in sorted(statuses)) + ")"


def versioned(move: Move, expected_version: int | None) -> Move:
    """The move, refused unless the thread has this version; None leaves it as it is."""
    if expected_version is not None:
        move.guard = f"({move.guard}) AND th.version = %s::bigint"
        move.guard_params = (*move.guard_params, expected_version)
    return move


def refuse(thread: UUID, *, expected_version: int | None, wanted: str) -> None:
    """Raise what explains best why a guarded write of `thread` found no row."""
    rows = fetch_named(
        "SELECT status, version, erasure FROM gp_thread WHERE id = %s::uuid", (thread,)
    )
    if not rows:
        raise NotFound("There is no such thread.")
    [now] = rows
    if now.erasure is not None:
        raise NotAllowedNow(CLOSED, status=now.status)
    if expected_version is not None and now.version != expected_version:
        raise StaleVersion(version=now.version, status=now.status)
    message = f"{wanted} is not possible while the thread is {now.status}."
    raise NotAllowedNow(message, status=now.status)


def check_texts(**texts: str | None) -> None:
    """Refuse with its name a text that its column does not take."""
    for name, text in texts.items():
        deltas.check(text, name)
        if text is not None and len(text) > _LONGEST[name]:
            raise InvalidValue(name, f"is longer than {_LONGEST[name]} characters")


_LONGEST = {
    "title": TITLE_MAX,
    "name": NAME_MAX,
    "pause_at": NODE_MAX,
    "before_node": NODE_MAX,
}

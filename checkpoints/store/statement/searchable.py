"""The searchable values in a thread's row: those of its agent version, in the state at its head."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from checkpoints.log.remains import Part
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.queries.states import materialized
from checkpoints.state import deltas
from checkpoints.state.searchable import check_values, column_of, kept_values, searchable_of

from .moves import Move, NewCheckpoint

COLUMN = "searchable"
# Values of an erased thread: (how many threads, bytes).
ERASED_PART = Part(
    "searchable",
    "WITH gone AS (UPDATE gp_thread SET searchable = NULL WHERE id = %s::uuid "
    "AND searchable IS NOT NULL RETURNING 1) SELECT count(*), 0::bigint FROM gone",
    "SELECT count(*), coalesce(sum(length(th.searchable::text)), 0)::bigint FROM gp_thread th "
    "WHERE th.id = ANY(%s::uuid[]) AND th.searchable IS NOT NULL",
    {},
)
# By the version's integer: a UUID computes its hash in Python, and each step asks.
_channels: dict[int, tuple[str, ...]] = {}


def channels_of(version: UUID) -> tuple[str, ...]:
    """The searchable channels of an agent version; read once, since a version never changes."""
    names = _channels.get(version.int)
    if names is None:
        query = "SELECT channels::text FROM gp_agent_version WHERE id = %s::uuid"
        if not (rows := fetch_named(query, (version,))):
            return ()
        names = _channels[version.int] = searchable_of(deltas.decode(rows[0].channels))
    return names


def remember_channels(version: UUID, channels: Mapping[str, Any]) -> None:
    """Save `channels_of` its read where a caller has read the version's channels anyway."""
    _channels.setdefault(version.int, searchable_of(channels))


def column_at(
    thread: UUID, checkpoint: UUID, *, version: UUID, delta: Mapping[str, Any] | None = None
) -> str | None:
    """The column of a thread that has the state of this checkpoint, changed by `delta`.

    Reads the state only where the version declares channels. Raises NotFound, CorruptHistory,
    ContentAway.
    """
    if not (names := channels_of(version)):
        return None
    state = materialized.materialise(thread, checkpoint).state
    return column_of(names, deltas.apply(state, delta or {}))


def follow(move: Move, checkpoint: NewCheckpoint, *, head: UUID, version: UUID) -> None:
    """Let `move`, which makes `checkpoint` the head after `head`, keep the values as they are then.

    `version` is that of the thread. Raises as `column_at` does.
    """
    if not (names := channels_of(version)):
        return
    if checkpoint.parent != head:  # it goes back: what stands in the row belongs to the past
        if checkpoint.parent is not None and checkpoint.parent_thread is not None:
            thread, parent, delta = checkpoint.parent_thread, checkpoint.parent, checkpoint.delta
            move.set(COLUMN, column_at(thread, parent, version=version, delta=delta))
        return
    _take(move, names, checkpoint.delta)


def follow_steps(move: Move, steps: Iterable[Mapping[str, Any]], *, version: UUID) -> None:
    """Do so for a move that makes several steps, given the delta of each in their order."""
    if not (names := channels_of(version)):
        return
    changed: dict[str, Any] = {}
    gone: set[str] = set()
    for delta in steps:
        set_now, unset_now = delta.get("set", {}), delta.get("unset", ())
        changed = {n: v for n, v in changed.items() if n not in unset_now} | set_now
        gone = (gone | set(unset_now)) - set(set_now)
    _take(move, names, {"set": changed, "unset": sorted(gone)})


def _take(move: Move, names: Sequence[str], delta: Mapping[str, Any]) -> None:
    """Let `move` change the values of these channels as the delta does."""
    changed = delta.get("set", {})
    values = kept_values(names, changed)
    # One that is too large is gone from the row as well.
    gone = [*delta.get("unset", ()), *(n for n in names if n in changed)]
    gone = [name for name in gone if name in names and name not in values]
    if values or gone:
        move.express(
            COLUMN,
            "(coalesce(th.searchable, '{}') || %s::jsonb) - %s::text[]",
            deltas.canonical(values).decode(),
            gone,
        )


def change_version(move: Move, *, former: UUID, version: UUID) -> None:
    """Let `move`, which gives its thread another version, keep the values that this declares."""
    if channels_of(version) == channels_of(former):
        return
    rows = fetch_named("SELECT head FROM gp_thread WHERE id = %s::uuid", (move.thread,))
    if not rows:
        return  # the move will find no row either
    move.guard = f"({move.guard}) AND th.head = %s::uuid"
    move.guard_params = (*move.guard_params, rows[0].head)
    move.set(COLUMN, column_at(move.thread, rows[0].head, version=version))


def check(version: UUID, values: Mapping[str, Any]) -> None:
    """Refuse values that are too large for searchable channels of this version; InvalidValue."""
    check_values(channels_of(version), values)

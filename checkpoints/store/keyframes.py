"""Keyframes: cached full states, written after what they are a copy of is committed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from ..queries.states import keyframes, materialized, recent_digests, saved_digests
from ..state import deltas
from ..state.channels import Digests


def write_keyframe(thread: UUID, number: int, state: dict[str, Any]) -> None:
    """Keep the state at checkpoint `number`; a second write of the same is a no-op."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_keyframe (thread_id, number, state) "
            "SELECT th.id, %s::integer, %s::text FROM gp_thread th "
            "WHERE th.id = %s::uuid AND th.erasure IS NULL ON CONFLICT DO NOTHING",
            (number, deltas.canonical(state).decode(), thread),
        )


def drop_keyframe(thread: UUID, number: int) -> None:
    """Forget a keyframe; states are then folded from an older one or from the first input."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM gp_keyframe WHERE thread_id = %s::uuid AND number = %s::integer",
            (thread, number),
        )


def keep_state(thread: UUID, checkpoint: UUID, number: int) -> None:
    """Keep the state at a checkpoint: for one that is read through many branches."""
    result, _ = trusted(thread, checkpoint)
    write_keyframe(thread, number, result.state)


def keep_far_state(thread: UUID, checkpoint: UUID, number: int) -> None:
    """Do so where a read goes through as many branches as it may."""
    if materialized.ranges(thread, checkpoint) >= keyframes.RANGES:
        keep_state(thread, checkpoint, number)


def trusted(thread: UUID, checkpoint: UUID) -> tuple[materialized.Materialised, Digests]:
    """A state to build upon, checked against its hash; a keyframe that does not fit is dropped."""
    result, digests = materialized.checked(thread, checkpoint)
    if result.refused:
        drop_keyframe(*result.refused)
    return result, digests


def known_digests(
    thread: UUID, checkpoint: UUID, rows: Sequence[tuple[Any, ...]] | None = None
) -> Digests:
    """The digests of a state that a change is to be written upon, with or without reading it.

    `rows` are the answer to `kept.asked` where somebody has it.
    """
    return (
        recent_digests.take(thread, checkpoint)
        or saved_digests.digests_at(thread, checkpoint, rows)
        or trusted(thread, checkpoint)[1]
    )


def remember_digests(thread: UUID, checkpoint: UUID, digests: Digests) -> None:
    """Keep the digests of a new head for the next step, once its transaction is committed."""
    transaction.on_commit(lambda: recent_digests.remember(thread, checkpoint, digests), robust=True)

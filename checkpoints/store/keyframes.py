"""Keyframes: cached full states, written outside the commit of a step."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection

from .. import deltas


def write_keyframe(thread: UUID, number: int, state: dict[str, Any]) -> None:
    """Keep the state at checkpoint `number`; a second write of the same is a no-op."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_keyframe (thread_id, number, state) "
            "VALUES (%s::uuid, %s::integer, %s::jsonb) ON CONFLICT DO NOTHING",
            (thread, number, deltas.canonical(state).decode()),
        )

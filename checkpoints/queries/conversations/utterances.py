"""Utterances that stand in a thread's log: to play back, and up to which number they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from ...postgres.named_rows import fetch_named
from ...postgres.sql_files import sql_file
from ...tables.readers import decoded

SQL: Final = sql_file(__file__)


@dataclass(frozen=True, slots=True)
class UtteranceRow:
    """An utterance as its event has it; `why` it was refused where the thread did not take it."""

    number: int
    seq: int
    value: Any
    audio: Mapping[str, Any] | None
    actor: str
    at: datetime
    why: str


def recorded_utterances(thread: UUID, *, first: int, limit: int) -> list[UtteranceRow]:
    """Utterances of a thread's log from a number on, in order."""
    return [
        UtteranceRow(
            row.number,
            row.seq,
            decoded(row.value),
            decoded(row.audio),
            row.actor,
            row.at,
            row.why or "",
        )
        for row in fetch_named(SQL.recorded_utterances, (thread, first, limit))
    ]


def last_utterance(thread: UUID, *, after: int = 0) -> tuple[int, int]:
    """(number of the last utterance in the log, the thread's newest event).

    Only events behind number `after` are looked at: 0 where there is none among them.
    """
    [row] = fetch_named(SQL.last_utterance, (thread, after, thread))
    return int(row.number or 0), int(row.seq or 0)

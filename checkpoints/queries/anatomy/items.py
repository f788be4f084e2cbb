"""Where the items of an Append channel come from: which checkpoint added them, who sent them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from checkpoints.postgres.sql_files import sql_file

from ..event_log import SEARCHED
from ..rows import decoded, rows

SQL = sql_file(__file__)


@dataclass(frozen=True, slots=True)
class SentRow:
    """A message that a checkpoint took: who sent it; `sent_by` names the thread of an agent."""

    actor: str
    at: datetime
    sent_by: dict[str, str] | None
    imported: bool


def added_items(points: Sequence[tuple[UUID, UUID]], channel: str) -> dict[UUID, int | None]:
    """{checkpoint: how many items it added to the channel} for each (thread, checkpoint).

    None where it wrote the whole channel: what stood there before is not in it.
    """
    threads, ids = [thread for thread, _ in points], [ident for _, ident in points]
    return dict(rows(SQL.added, (channel, threads, ids)))


def sent_items(threads: Collection[UUID], channel: str) -> dict[UUID, list[SentRow]]:
    """{checkpoint: messages that it took into the channel, in order}, among the newest events."""
    results: dict[UUID, list[SentRow]] = defaultdict(list)
    for checkpoint, actor, at, sent_by, imported in rows(
        SQL.taken, (SEARCHED, channel, list(threads))
    ):
        sender: Any = decoded(sent_by)
        results[UUID(checkpoint)].append(
            SentRow(actor, at, sender if isinstance(sender, dict) else None, imported)
        )
    return dict(results)

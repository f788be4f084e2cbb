"""Outcomes of requests: the effects that came of them, how each ended, and what was undone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.tables.readers import record_of

from .kinds import DECISIONS, NOTABLE, literal

SQL: Final = sql_file(__file__, notable=literal(NOTABLE), decisions=literal(DECISIONS))
PER_REQUEST: Final = 100
WINDOW: Final = 2_000  # calls behind a request among which later effects are looked for
# How an effect belongs to a request: its record names it; the node that waited for it made it; the
# thread made it later and asked nobody; the rollback that was asked for was to undo it.
Relation = Literal["request", "node", "later", "undo"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """An effect that came of a request; `state` is `compensated` once it was undone."""

    approval: UUID
    relation: Relation
    activity: UUID
    thread: UUID
    tool: str
    state: str
    sentence: str
    error: str
    attempts: int
    undo: str
    started_at: datetime
    finished_at: datetime | None


def outcomes_of(approvals: Iterable[UUID], *, workspace: UUID) -> dict[UUID, list[Outcome]]:
    """{request: what came of it} in the order of the relations, then in time; one statement.

    Of the effects that name no request at most PER_REQUEST of each relation are listed.
    """
    ids = list(dict.fromkeys(approvals))
    result: dict[UUID, list[Outcome]] = {ident: [] for ident in ids}
    if not ids:
        return result
    params = {"ids": ids, "workspace": workspace, "limit": PER_REQUEST, "window": WINDOW}
    for row in fetch_named(SQL.outcomes, params):
        result[row.approval].append(record_of(Outcome, row))
    return result

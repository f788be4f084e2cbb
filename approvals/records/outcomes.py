"""Outcomes of requests: the effects that came of them, how each ended, and what was undone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.tables.readers import record_of

from .kinds import DECISIONS, NOTABLE, literal

SQL: Final = sql_file(__file__, notable=literal(NOTABLE), decisions=literal(DECISIONS))
PER_REQUEST: Final = 100
CALLS_AFTER: Final = 2_000  # calls after a request among which later effects are looked for
# How an effect belongs to a request: its record names it; the node that waited for it made it; the
# thread made it later and asked nobody; the rollback that was asked for was to undo it; the fork
# that was asked for made it and asked nobody.
Relation = Literal["request", "node", "later", "undo", "fork"]
_LIMITED: Final = ("node", "later", "fork")


@dataclass(frozen=True, slots=True)
class Outcome:
    """An effect that came of a request; `state` is `compensated` once it was undone.

    `undo_failed` says that the last try to undo it failed, and `undo_error` why.
    """

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
    undo_failed: bool
    undo_error: str


@dataclass(slots=True)
class Outcomes:
    """Effects that came of a request; `complete` is False where there may be more of them."""

    rows: list[Outcome] = field(default_factory=list)
    complete: bool = True


def outcomes_of(approvals: Iterable[UUID], *, workspace: UUID) -> dict[UUID, Outcomes]:
    """{request: its outcome} in the order of the relations, then in time; one statement.

    Of the effects that name no request at most PER_REQUEST of each relation are listed, of the
    later ones those among the CALLS_AFTER calls after the request.
    """
    ids = list(dict.fromkeys(approvals))
    result = {ident: Outcomes() for ident in ids}
    if not ids:
        return result
    counts: Counter[tuple[UUID, str]] = Counter()
    params = {"ids": ids, "workspace": workspace, "limit": PER_REQUEST + 1, "window": CALLS_AFTER}
    for row in fetch_named(SQL.outcomes, params):
        counts[row.approval, row.relation] += 1
        n = counts[row.approval, row.relation]
        if row.relation == "unseen" or (row.relation in _LIMITED and n > PER_REQUEST):
            result[row.approval].complete = False
        else:
            result[row.approval].rows.append(record_of(Outcome, row))
    return result

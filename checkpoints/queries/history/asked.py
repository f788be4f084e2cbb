"""Questions that people asked of the record, with what was answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from checkpoints.errors import NotFound
from checkpoints.log.remains import is_blank
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.tables.readers import decoded, record_of

_ROWS: Final = (
    "SELECT q.id, q.asked_by, q.question, q.scope::text AS scope, q.answer::text AS answer, q.at "
    "FROM gp_record_question q WHERE q.workspace_id = %s::uuid "
)


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A question, what of the workspace it was about, and its answer; empty once it is erased."""

    id: UUID
    asked_by: str
    question: str
    scope: Mapping[str, Any]
    answer: Mapping[str, Any]
    at: datetime

    @property
    def is_erased(self) -> bool:
        """True where a thread that the answer rests on was erased."""
        return is_blank(self.answer)


def question(ident: UUID, *, workspace: UUID) -> QuestionRow:
    """One question; raises NotFound."""
    rows = fetch_named(f"{_ROWS} AND q.id = %s::uuid", (workspace, ident))
    if not rows:
        raise NotFound("There is no such question in this workspace.")
    return _row(rows[0])


def newest_questions(workspace: UUID, *, by: str, limit: int) -> list[QuestionRow]:
    """The newest questions, of one person or of all (`by` empty)."""
    rows = fetch_named(
        f"{_ROWS} AND (%s::text = '' OR split_part(q.asked_by, '/', 1) = %s::text) "
        "ORDER BY q.id DESC LIMIT %s",
        (workspace, by, by, limit),
    )
    return [_row(row) for row in rows]


def _row(row: Any) -> QuestionRow:
    return record_of(QuestionRow, row, scope=decoded, answer=decoded)

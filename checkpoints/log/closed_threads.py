"""Why a thread is closed, as SQL of one column of its row and as a record."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from django.db import connection
from pydantic import Field

from ..errors import ContentErased
from ..state import deltas


@dataclass(frozen=True, slots=True)
class ErasedRow:
    """The erasure that has closed a thread; `erased_at` is null while its content still goes."""

    id: UUID
    requested_by: str
    requested_by_name: str
    decided_by: str
    decided_by_name: str
    reason: str
    rule: Annotated[UUID | None, Field(description="the retention rule that requested it")]
    erased_at: datetime | None

    @property
    def sentence(self) -> str:
        """Name who erased it, who approved that, and why, as one sentence."""
        approved = f", approved by {self.decided_by_name}" if self.decided_by_name else ""
        verb = "Being erased" if self.erased_at is None else "Erased"
        return f"{verb} by {self.requested_by_name}{approved}: {self.reason}"


ERASED_OF: Final = (
    "(SELECT to_jsonb(r) || jsonb_build_object('erased_at', d.erased_at) FROM gp_erasure r "
    "LEFT JOIN gp_erased d ON d.id = th.id WHERE r.id = th.erasure)::text"
)


def erased_row(text: str | None) -> ErasedRow | None:
    """The record of the column; None of a thread that is open."""
    if text is None:
        return None
    row: dict[str, Any] = deltas.decode(text)
    erased_at, rule = row["erased_at"], row["rule"]
    return ErasedRow(
        UUID(row["id"]),
        row["requested_by"],
        row["requested_by_name"],
        row["decided_by"],
        row["decided_by_name"],
        row["reason"],
        None if rule is None else UUID(rule),
        None if erased_at is None else datetime.fromisoformat(erased_at),
    )


def closed(thread: UUID) -> ErasedRow | None:
    """Say why a thread is closed; None of one that is open or not there."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {ERASED_OF} FROM gp_thread th WHERE th.id = %s::uuid", (thread,))
        row = cursor.fetchone()
    return erased_row(row[0]) if row else None


def refuse_erased(thread: UUID) -> None:
    """Raise ContentErased, with who and why, where the content of a thread is gone."""
    row = closed(thread)
    if row is not None and row.erased_at is not None:
        raise ContentErased(f"The content of this thread is gone. {row.sentence}")

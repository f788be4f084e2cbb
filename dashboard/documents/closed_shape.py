"""The erasure that has closed a thread, as answers about the thread state it."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field

from dashboard.documents.state_shape import Shape


class Erased(Shape):
    """The erasure that has closed a thread; `erased_at` is null while its content still goes."""

    id: UUID
    requested_by: str
    requested_by_name: str
    decided_by: str
    decided_by_name: str
    reason: str
    rule: UUID | None = Field(description="the retention rule that requested it")
    erased_at: datetime | None

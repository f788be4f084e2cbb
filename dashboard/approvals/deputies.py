"""Deputies as they are shown, and whom a person may name."""

from __future__ import annotations

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import Field

from approvals.notify.recipients import Person, deciders
from approvals.queries.deputies import DeputyRow
from dashboard.documents.state_shape import Shape
from dashboard.identity.permissions import Actor


class Deputy(Shape):
    """The right of `deputy` to act for `person`: until `ends`, or in one `request`."""

    id: UUID
    person: str
    person_name: str
    deputy: str
    deputy_name: str
    request: UUID | None
    begins: datetime
    ends: datetime | None
    began: bool = Field(description="Whether it holds now.")
    reason: str
    made_by: str

    @classmethod
    def of(cls, row: DeputyRow) -> Self:
        """The row for the wire."""
        return cls(**{name: getattr(row, name) for name in cls.model_fields})


def possible_deputies(actor: Actor) -> list[Person]:
    """The reviewers whom the person may name, by user name."""
    return [one for one in deciders(actor.workspace) if one.id != actor.person]

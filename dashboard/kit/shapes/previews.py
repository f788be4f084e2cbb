"""Answers that preview an edit, a fork, a rollback or a cancellation."""

from __future__ import annotations

from uuid import UUID

from dashboard.documents.state_shape import Shape


class SecondPersonAsked(Shape):
    """Nothing is done yet: somebody else is asked first, in the request `approval`."""

    detail: str
    approval: UUID
    url: str


class SecondAdminAsked(Shape):
    """Nothing changes yet: another admin confirms the change of access `change` first."""

    detail: str
    change: UUID
    url: str

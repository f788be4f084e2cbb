"""What the forms of the records have in common: who acts, and in which workspace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from dashboard.identity.administrator import Administrator
from dashboard.identity.permissions import Actor


@dataclass(frozen=True, slots=True)
class RecordForms:
    """The actions on a setting for its forms: `who` acts in `workspace`, in their own for None."""

    who: Administrator
    workspace: UUID | None

    @property
    def actor(self) -> Actor:
        """A superuser may act in every workspace."""
        if not self.who.superuser or self.workspace is None:
            return self.who.actor
        return replace(self.who.actor, workspace=self.workspace)

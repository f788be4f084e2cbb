"""Somebody at the admin site, the API or a command who looks after people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from dashboard.identity.permissions import Actor, actor_of

AUDIT: Final = frozenset({"auditor", "admin"})


@dataclass(frozen=True, slots=True)
class Administrator:
    """Somebody at the admin site: who they are, and whether every workspace is theirs."""

    actor: Actor
    superuser: bool

    @property
    def may_audit(self) -> bool:
        """True if this person may read the records."""
        return self.superuser or not AUDIT.isdisjoint(self.actor.roles)

    @property
    def may_administer(self) -> bool:
        """True if this person may change users, roles and workspaces."""
        return self.superuser or "admin" in self.actor.roles

    @property
    def scope(self) -> UUID | None:
        """The workspace whose rows they may read; None for all."""
        return None if self.superuser else self.actor.workspace


def administrator_of(user: Any) -> Administrator:
    """Read the person behind a Django user, with current roles; Forbidden for strangers."""
    return Administrator(actor_of(user), bool(user.is_superuser))

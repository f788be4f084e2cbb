"""The policy that blocked the action of an event."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from approvals.policies import queries as queries_policies
from checkpoints.views import EventRow


@dataclass(frozen=True, slots=True)
class BlockingPolicy:
    """The version of a policy that refused an action, and the request that records it."""

    id: UUID
    number: int
    approval: UUID


def blocking_policy(event: EventRow) -> BlockingPolicy | None:
    """The policy that blocked what an event records; None for all other events."""
    if event.imported or not event.data.get("blocked"):
        return None
    named = queries_policies.version_named(event.actor.removeprefix("policy:"))
    try:
        return named and BlockingPolicy(*named, UUID(str(event.data.get("approval"))))
    except ValueError:
        return None  # an altered row: its page says so

"""Administer endpoints, the receivers of notifications: part of `actions`.

The same shape as there: the right first, then the domain call, errors as ActionError. Nothing is
sent here: a worker does that, also for a test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from approvals.notify import endpoints, queries
from approvals.notify.endpoints import OVERLAP_SECONDS, Wanted
from approvals.notify.queries import EndpointRow
from dashboard.errors import translated
from dashboard.identity.permissions import Actor, require
from dashboard.people.accounts.administration import Administrator, require_audit


@translated()
def make_endpoint(actor: Actor, kind: str, wanted: Wanted) -> tuple[EndpointRow, str]:
    """A new endpoint, and the secret of a webhook, which nobody can show again."""
    require(actor, "notify")
    made, secret = endpoints.make(actor.workspace, kind, wanted, actor=actor.id)
    return queries.endpoint(made, workspace=actor.workspace), secret


@translated()
def change_endpoint(actor: Actor, endpoint_id: UUID, wanted: Wanted) -> EndpointRow:
    """Give an endpoint other values; None leaves one as it is."""
    require(actor, "notify")
    endpoints.change(endpoint_id, wanted, workspace=actor.workspace, actor=actor.id)
    return queries.endpoint(endpoint_id, workspace=actor.workspace)


@translated()
def rotate_endpoint(
    actor: Actor, endpoint_id: UUID, overlap: float = OVERLAP_SECONDS
) -> tuple[EndpointRow, str]:
    """A new secret, shown once; the former one signs too for `overlap` seconds more."""
    require(actor, "notify")
    secret = endpoints.rotate(
        endpoint_id, workspace=actor.workspace, actor=actor.id, overlap=overlap
    )
    return queries.endpoint(endpoint_id, workspace=actor.workspace), secret


@translated()
def switch_endpoint(actor: Actor, endpoint_id: UUID, active: bool) -> EndpointRow:
    """Switch an endpoint on or off; off, what it has not got yet is dropped."""
    require(actor, "notify")
    endpoints.switch(endpoint_id, active, workspace=actor.workspace, actor=actor.id)
    return queries.endpoint(endpoint_id, workspace=actor.workspace)


@translated()
def try_endpoint(actor: Actor, endpoint_id: UUID) -> EndpointRow:
    """Have a test message sent; a mail endpoint for people sends it to the person who asks."""
    require(actor, "notify")
    endpoints.try_out(
        endpoint_id, workspace=actor.workspace, actor=actor.id, recipient=actor.person
    )
    return queries.endpoint(endpoint_id, workspace=actor.workspace)


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The same for the forms of the records: `who` acts in `workspace`, in their own for None."""

    who: Administrator
    workspace: UUID | None

    @property
    def actor(self) -> Actor:
        """A superuser may act in every workspace."""
        if not self.who.superuser or self.workspace is None:
            return self.who.actor
        return replace(self.who.actor, workspace=self.workspace)

    def make(self, kind: str, values: Mapping[str, Any]) -> tuple[UUID, str]:
        """A new one: its id and its secret."""
        row, secret = make_endpoint(self.actor, kind, Wanted(**values))
        return row.id, secret

    def change(self, endpoint_id: UUID, values: Mapping[str, Any]) -> None:
        """Other values."""
        change_endpoint(self.actor, endpoint_id, Wanted(**values))

    def rotate(self, endpoint_id: UUID) -> str:
        """A new secret."""
        return rotate_endpoint(self.actor, endpoint_id)[1]

    def switch(self, endpoint_id: UUID, active: bool) -> None:
        """On or off."""
        switch_endpoint(self.actor, endpoint_id, active)

    def test(self, endpoint_id: UUID) -> None:
        """A test message."""
        try_endpoint(self.actor, endpoint_id)


def list_endpoints(actor: Actor) -> list[EndpointRow]:
    """The endpoints of the workspace, for auditors and admins."""
    require_audit(actor)
    return queries.endpoints(workspace=actor.workspace)


@translated()
def one_endpoint(actor: Actor, endpoint_id: UUID) -> tuple[EndpointRow, Sequence[Any]]:
    """An endpoint and what it was last told."""
    require_audit(actor)
    endpoint = queries.endpoint(endpoint_id, workspace=actor.workspace)
    return endpoint, queries.deliveries(endpoint_id, workspace=actor.workspace)

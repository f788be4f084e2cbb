"""The endpoints that a person may choose for their own news."""

from __future__ import annotations

from approvals.notify import queries
from approvals.notify.channels.kinds import TO_PEOPLE
from approvals.notify.queries import EndpointRow
from dashboard.identity.permissions import Actor, may


def usable_endpoints(actor: Actor) -> list[EndpointRow]:
    """The active endpoints that the person may choose."""
    rows = [row for row in queries.endpoints(workspace=actor.workspace) if row.active]
    return rows if may(actor, "notify") else [row for row in rows if writes_to_people(row)]


def writes_to_people(row: EndpointRow) -> bool:
    """Return whether an endpoint writes to people, at an address of theirs."""
    return row.kind in TO_PEOPLE and not row.target

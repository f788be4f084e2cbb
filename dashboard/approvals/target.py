"""The request as the target of actions."""

from __future__ import annotations

from uuid import UUID

from approvals import queries
from approvals.queries import ApprovalRow
from approvals.states import UNSETTLED
from dashboard.errors import Missing
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Target


def approval_named(actor: Actor, text: str) -> ApprovalRow:
    """The request of this id, or the unsettled one whose id begins so; raises Missing."""
    try:
        return queries.approval(UUID(text), workspace=actor.workspace)
    except ValueError:
        pass
    rows = [
        row
        for status in UNSETTLED
        for row in queries.approvals(workspace=actor.workspace, status=status, limit=200).rows
    ]
    results = [row for row in rows if str(row.id).startswith(text.lower())]
    if len(results) != 1:
        raise Missing(
            f"{'More than one' if results else 'No'} open request has an id that begins with "
            f"{text}."
        )
    return results[0]


APPROVAL = Target(
    name="approval",
    find=lambda actor, text: approval_named(actor, text).id,
    help="id, or how it begins",
    page="approval",
)

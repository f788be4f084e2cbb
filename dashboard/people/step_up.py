"""Step-up: a decision with high risk needs its person to have shown lately who they are.

One rule for page, several together, hook, token, command and API. It is off unless
GATEPOST_STEP_UP_MINUTES says otherwise.
"""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.db import connection

from approvals import queries
from approvals.queries import ApprovalRow
from dashboard.errors import NeedsConfirmation
from dashboard.identity.permissions import Actor, lacks


def confirmed_for(actor: Actor, approval_id: UUID, verdict: str) -> str:
    """Time at which the person of a decision showed who they are, ISO 8601; empty where not needed.

    Raises NeedsConfirmation where that is too long ago, or never was. Signing in counts. What a
    token or hook carries has nobody behind it who could: it needs the scope `decide_high`.
    """
    minutes = settings.GATEPOST_STEP_UP_MINUTES
    if minutes <= 0:
        return ""
    if not needs(queries.approval(approval_id, workspace=actor.workspace), verdict):
        return ""
    if actor.grant is not None:
        if message := lacks(actor, "decide_high"):
            raise NeedsConfirmation(
                f"High risk is decided by somebody who has just shown who they are. {message}",
                confirms=False,
            )
        return ""
    at = actor.login.confirmed_at if actor.login else None
    if at is None or not _lately(at.isoformat(), minutes):
        raise NeedsConfirmation(
            f"High risk: show that it is you, by your password or by signing in, not longer than "
            f"{minutes:g} minutes before you decide."
        )
    return at.isoformat()


def needs(row: ApprovalRow, verdict: str) -> bool:
    """Answer True for a verdict of high risk on a request; a question to the agent is none."""
    asks = verdict == "respond" and row.gate
    return not asks and (row.risk == "high" or row.repeat)


def _lately(at: str, minutes: float) -> bool:
    """Answer True for a moment no longer ago than that, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT %s::timestamptz BETWEEN clock_timestamp() - make_interval(secs => %s) "
            "AND clock_timestamp()",
            (at, minutes * 60),
        )
        return bool(cursor.fetchone()[0])

"""Endpoints, requests and their news, as the tests of notifications make them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection

from approvals import outbox
from approvals.notify import endpoints, queries
from approvals.notify.endpoints import Wanted
from approvals.queries import ApprovalRow
from tests.support.cast import Cast
from tests.unit.dashboard import scene


def endpoint(cast: Cast, kind: str, target: str = "", **more: Any) -> UUID:
    wanted = Wanted(name=more.pop("name", f"{kind} {target}"), target=target, **more)
    return endpoints.make(cast.workspace, kind, wanted, actor="user:1")[0]


def open_request(cast: Cast, **more: Any) -> ApprovalRow:
    """A request whose own news is out of the way: a test tells what it is about."""
    row = scene.waiting(cast.workspace, scene.make_agent(), **more)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_outbox SET done_at = clock_timestamp() WHERE approval_id = %s", [row.id]
        )
    return row


def tell(row: ApprovalRow, kind: str = "approval.requested", **data: Any) -> UUID:
    return outbox.add(kind, workspace=row.workspace, thread=row.thread, approval=row.id, data=data)


def states(endpoint_id: UUID, cast: Cast) -> list[str]:
    result = queries.deliveries(endpoint_id, workspace=cast.workspace, limit=200)
    return [one.state for one in reversed(result)]

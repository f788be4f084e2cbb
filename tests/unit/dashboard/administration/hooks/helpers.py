"""The request as it is now, the log of hooks, and how a refusal reads."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection
from django.test import Client

from approvals import queries as gates
from approvals.queries import ApprovalRow

CLIENT = Client()


def now(row: ApprovalRow) -> ApprovalRow:
    return gates.approval(row.id, workspace=row.workspace)


def kinds(workspace: UUID) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, data::text FROM gp_workspace_event WHERE workspace_id = %s "
            "AND kind LIKE 'hook.%%' ORDER BY seq",
            [workspace],
        )
        rows = cursor.fetchall()
    assert not any("whsec_" in data for _, data in rows)
    return [kind for kind, _ in rows]


def refused(answer: Any, status: int, *words: str) -> None:
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    payload = answer.json()
    assert len(payload["detail"]) > 20, payload
    for word in words:
        assert word in payload["detail"] or word in payload["type"], payload

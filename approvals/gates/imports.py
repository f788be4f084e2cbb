"""Requests and decisions from a capsule: written as they were, and worth nothing for effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import batched
from typing import Any
from uuid import UUID

from django.db import connection

from checkpoints.capsules.columns import Columns, inserted
from checkpoints.capsules.layout import BadCapsule

from .verdict.tallies import tally_of_thread

AT_ONCE = 200


def import_requests(
    thread: UUID,
    *,
    workspace: UUID,
    origin: UUID,
    approvals: tuple[Columns, Iterable[Mapping[str, Any]]],
    decisions: tuple[Columns, Iterable[Mapping[str, Any]]],
) -> None:
    """Write a thread's requests and decisions; parameters by column.

    A proposal's hash names the workspace that it was asked in, so what was approved elsewhere
    (`origin`) opens no gate here. Of a capsule that claims to come from this very workspace an
    approval that no effect has used yet would: it is refused. Call it after the activities.
    """
    fixed = {"thread_id": "uuid", "workspace_id": "uuid", "imported": "boolean"}
    _many("gp_approval", *approvals, fixed, (thread, workspace, True))
    _many("gp_decision", *decisions, {"workspace_id": "uuid"}, (workspace,))
    tally_of_thread(thread)
    if origin != workspace:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM gp_approval a WHERE a.thread_id = %s::uuid "
            "AND a.kind IN ('gate', 'repeat') AND a.status IN ('held', 'settled') "
            "AND a.outcome IN ('approve', 'edit') AND NOT "
            "EXISTS (SELECT 1 FROM gp_activity x WHERE x.approval_id = a.id) LIMIT 1",
            (thread,),
        )
        if cursor.fetchone() is not None:
            raise BadCapsule(
                "The capsule has an approval of this workspace that no effect has used yet; only "
                "the database itself can vouch for that."
            )


def _many(
    table: str,
    columns: Columns,
    given: Iterable[Mapping[str, Any]],
    fixed: Mapping[str, str],
    values: tuple[Any, ...],
) -> None:
    sql = inserted(table, columns, fixed)
    with connection.cursor() as cursor:
        for some in batched(given, AT_ONCE):
            cursor.executemany(sql, [(*row.values(), *values) for row in some])

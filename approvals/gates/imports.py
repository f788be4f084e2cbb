"""Requests and decisions from a capsule: written as they were, and worth nothing for effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db import connection

from checkpoints.capsules.layout import BadCapsule
from checkpoints.postgres.inserts import insert_rows

from ..columns import APPROVAL, DECISION
from .verdict.tallies import tally_of_thread


def import_requests(
    thread: UUID,
    *,
    workspace: UUID,
    origin: UUID,
    approvals: Iterable[Mapping[str, Any]],
    decisions: Iterable[Mapping[str, Any]],
) -> None:
    """Write a thread's requests and decisions; parameters by column.

    A proposal's hash names the workspace that it was asked in, so what was approved elsewhere
    (`origin`) opens no gate here. Of a capsule that claims to come from this very workspace an
    approval that no effect has used yet would: it is refused. Call it after the activities.
    """
    insert_rows(APPROVAL, approvals, thread_id=thread, workspace_id=workspace, imported=True)
    insert_rows(DECISION, decisions, workspace_id=workspace)
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

"""Legal holds: while one is set on a thread, nothing of it is erased, no matter who approves."""

from __future__ import annotations

from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints.errors import NotAllowedNow, NotFound
from checkpoints.log.recorded import RowChange
from checkpoints.queries.erasures import requests as queries
from checkpoints.queries.erasures.requests import HoldRow
from checkpoints.signals import announce_board
from checkpoints.states import WorkspaceEventKind as K

from ..installation.workspaces import append, lock_workspaces
from ..statement.moves import NewEvent


def set_hold(thread: UUID, *, workspace: UUID, reason: str, actor: str) -> HoldRow:
    """Set a legal hold on a thread; NotAllowedNow where one is set, or an erasure is approved."""
    ident: UUID = uuid7()
    with transaction.atomic():
        # An approval takes the same lock: it sees the hold, or the hold sees it.
        lock_workspaces([workspace])
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT erasure FROM gp_thread WHERE id = %s::uuid AND workspace_id = %s::uuid",
                (thread, workspace),
            )
            row = cursor.fetchone()
            if row is None:
                raise NotFound("There is no such thread in this workspace.")
            if row[0] is not None:
                raise NotAllowedNow("An erasure of this thread is approved: it is too late.")
            cursor.execute(
                "INSERT INTO gp_hold (id, workspace_id, thread_id, reason, set_by, lifted_by, "
                "lift_reason) VALUES (%s::uuid, %s::uuid, %s::uuid, %s::text, %s::varchar, '', '') "
                "ON CONFLICT (thread_id) WHERE lifted_at IS NULL DO NOTHING",
                (ident, workspace, thread, reason, actor),
            )
            if not cursor.rowcount:
                raise NotAllowedNow("A legal hold is set on this thread already.")
        data = {"hold": str(ident), "thread": str(thread), "reason": reason}
        append(workspace, [NewEvent(K.HOLD_SET, data, actor)], RowChange({"gp_hold": [ident]}))
        announce_board(workspace)
    return next(row for row in queries.holds(workspace, thread=thread) if row.id == ident)


def lift_hold(thread: UUID, *, workspace: UUID, reason: str, actor: str) -> HoldRow:
    """Lift the legal hold of a thread; NotAllowedNow where none is set."""
    with transaction.atomic():
        lock_workspaces([workspace])
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE gp_hold SET lifted_by = %s::varchar, lifted_at = clock_timestamp(), "
                "lift_reason = %s::text WHERE thread_id = %s::uuid AND workspace_id = %s::uuid "
                "AND lifted_at IS NULL RETURNING id",
                (actor, reason, thread, workspace),
            )
            row = cursor.fetchone()
        if row is None:
            raise NotAllowedNow("No legal hold is set on this thread.")
        data = {"hold": str(row[0]), "thread": str(thread), "reason": reason}
        change = RowChange({"gp_hold": [row[0]]}, columns=("lifted_by", "lifted_at", "lift_reason"))
        append(workspace, [NewEvent(K.HOLD_LIFTED, data, actor)], change)
        announce_board(workspace)
    return next(one for one in queries.holds(workspace, thread=thread) if one.id == row[0])

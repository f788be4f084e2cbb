"""Verifying the log of a workspace, and that nobody has a role which the log has not given."""

from __future__ import annotations

from uuid import UUID

from django.db import connection

from .. import deltas
from ..errors import NotFound
from ..states import WorkspaceEventKind as K
from .events import Event, Log
from .links import Broken
from .verify import ChainReport, report


def verify_workspace(workspace_id: UUID) -> ChainReport:
    """Verify all events of a workspace and its roles as they stand now; raises NotFound.

    Of a workspace that is older than its log only the chain can be verified.
    """
    with connection.cursor() as cursor:
        # One statement: the row, the end of its log and its roles as of one moment.
        cursor.execute(
            "SELECT w.chain_id, w.last_seq, w.last_hash, (SELECT coalesce(max(seq), 0) FROM "
            "gp_workspace_event WHERE workspace_id = w.id), ARRAY(SELECT m.user_id || ' ' || "
            "m.role FROM gp_membership m WHERE m.workspace_id = w.id) FROM gp_workspace w "
            "WHERE w.id = %s::uuid",
            (workspace_id,),
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound("There is no such workspace.")
    chain, last_seq, last_hash, highest_seq, stored = row
    ends = (chain, last_seq, bytes(last_hash), highest_seq)
    log = Log("workspace", workspace_id, workspace_id, *ends)
    given: set[str] = set()
    from_birth = False
    try:
        for event in log.verified():
            from_birth = from_birth or event.kind == K.WORKSPACE_CREATED
            _fold(given, event)
        if from_birth and (strange := given ^ set(stored)):
            user, _, role = min(strange).partition(" ")
            has = "has" if min(strange) in stored else "lacks"
            raise Broken(last_seq, f"user {user} {has} the role {role} against the log")
    except Broken as broken:
        return report(log, broken)
    return report(log)


def _fold(given: set[str], event: Event) -> None:
    """Add or take the role that an event is about, written "user role"."""
    if event.kind not in (K.ROLE_GRANTED, K.ROLE_WITHDRAWN):
        return
    data = deltas.decode(event.data)
    role = f"{data['user']} {data['role']}"
    if event.kind == K.ROLE_GRANTED:
        given.add(role)
    else:
        given.discard(role)

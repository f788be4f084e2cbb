"""Requests for erasure and their decisions: nothing is erased before a second person approves.

An approval closes every thread of the selection in one statement, before any content goes. The
statement refuses unless the threads are exactly those that were requested, all of them finished and
none under a legal hold. Forks that are written at that moment either come first, and the selection
differs, or are refused by the trigger on `gp_thread`.
"""

from __future__ import annotations

from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints.errors import NotAllowedNow, SamePerson
from checkpoints.log.recorded import RowChange
from checkpoints.queries.erasures import requests as queries
from checkpoints.queries.erasures.requests import ErasureRow, Selection
from checkpoints.signals import announce_board
from checkpoints.states import FINISHED
from checkpoints.states import WorkspaceEventKind as K

from ..installation.workspaces import append, lock_workspaces
from ..statement.moves import NewEvent

_DECIDED = ("state", "decided_by", "decided_by_name", "decided_at", "comment")


def request(
    thread: UUID,
    *,
    workspace: UUID,
    scope: str,
    reason: str,
    actor: str,
    name: str,
    rule: UUID | None = None,
) -> ErasureRow:
    """Open a request to erase a thread and all that shares its past; nothing is erased yet.

    Threads that still run have to be ended before it is approved. Raises NotAllowedNow, which names
    what stands in the way: a legal hold, another request for the same thread. With `rule` a
    retention rule requests it: that was decided when the rule was made, and the erasure is approved
    immediately.
    """
    ident: UUID = uuid7()
    with transaction.atomic():
        lock_workspaces([workspace])
        selection = queries.selection(thread, workspace=workspace, scope=scope)
        refuse(thread, selection, unfinished=False)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT 1 FROM gp_erasure WHERE thread_id = %s::uuid AND state = 'requested'",
                (thread,),
            )
            if cursor.fetchone():
                raise NotAllowedNow("An erasure of this thread is requested already.")
            cursor.execute(
                "INSERT INTO gp_erasure (id, workspace_id, thread_id, scope, n_threads, selection, "
                "reason, rule, state, requested_by, requested_by_name, decided_by, "
                "decided_by_name, comment, n_rows, n_bytes, n_files) VALUES (%s::uuid, %s::uuid, "
                "%s::uuid, %s::varchar, %s::integer, %s::varchar, %s::text, %s::uuid, 'requested', "
                "%s::varchar, %s::varchar, '', '', '', 0, 0, 0)",
                (
                    *(ident, workspace, thread, scope, len(selection.threads), selection.digest),
                    *(reason, rule, person(actor), name),
                ),
            )
        _append(K.ERASURE_REQUESTED, ident, workspace, actor, reason=reason, thread=thread)
        if rule is not None:
            _approve(queries.erasure(ident, workspace=workspace), actor="", name="", comment="")
        return queries.erasure(ident, workspace=workspace)


def decide(
    ident: UUID, *, workspace: UUID, approve: bool, actor: str, name: str, comment: str = ""
) -> ErasureRow:
    """Approve or refuse a request for erasure; an approval closes its threads.

    Raises SamePerson for the person who requested it, NotAllowedNow where it is decided already,
    or where the threads are no longer those that were requested.
    """
    with transaction.atomic():
        lock_workspaces([workspace])
        row = queries.erasure(ident, workspace=workspace)
        if row.state != "requested":
            raise NotAllowedNow(f"This erasure is {row.state} already.")
        if approve and person(actor) == row.requested_by:
            raise SamePerson
        if approve:
            _approve(row, actor=actor, name=name, comment=comment)
        else:
            _decided(row, "refused", actor, name, comment)
            _append(K.ERASURE_REFUSED, ident, workspace, actor, reason=comment, thread=row.thread)
        return queries.erasure(ident, workspace=workspace)


def refuse(thread: UUID, selection: Selection, *, unfinished: bool = True) -> None:
    """Raise NotAllowedNow where this selection cannot be erased now, or, with `unfinished` false,
    not even once all its threads are finished."""
    if thread not in selection.ids:
        raise NotAllowedNow("This thread is closed by an erasure already.")
    if unfinished and (running := selection.unfinished):
        first = running[0]
        n = len(running)
        many = "1 thread of it is" if n == 1 else f"{n:,} threads of it are"
        raise NotAllowedNow(
            f"{many} not finished ({first.title}: {first.status}). Cancel what still runs first.",
            status=first.status,
        )
    if held := selection.held:
        raise NotAllowedNow(f"A legal hold on {held[0].title} forbids it: {held[0].hold}")


def person(actor: str) -> str:
    """Name who somebody is, whatever they act through: `user:7` of `user:7/token:...`."""
    return actor.partition("/")[0]


def _approve(row: ErasureRow, *, actor: str, name: str, comment: str) -> None:
    """Close the threads of a request, then compare them with those that were requested."""
    ids = queries.selection(row.thread, workspace=row.workspace, scope=row.scope).ids
    with connection.cursor() as cursor:
        # One statement over several thread rows: in the order of their ids, so that two approvals
        # cannot wait for each other. Other verbs lock one thread row only.
        cursor.execute(
            "UPDATE gp_thread th SET erasure = %s::uuid, version = th.version + 1 FROM (SELECT id "
            "FROM gp_thread WHERE id = ANY(%s::uuid[]) ORDER BY id FOR NO KEY UPDATE) k "
            "WHERE th.id = k.id AND th.erasure IS NULL AND th.status = ANY(%s::text[]) "
            "AND NOT EXISTS (SELECT 1 FROM gp_hold h WHERE h.thread_id = th.id "
            "AND h.lifted_at IS NULL)",
            (row.id, ids, sorted(map(str, FINISHED))),
        )
        closed = cursor.rowcount
    # Anew: a fork or a child may have come while the rows were being locked.
    selection = queries.selection(
        row.thread, workspace=row.workspace, scope=row.scope, erasure=row.id
    )
    refuse(row.thread, selection)
    if closed != len(selection.threads) or selection.digest != row.selection:
        raise NotAllowedNow(
            f"The threads that belong to it have changed since: {len(selection.threads):,} now, "
            f"{row.n_threads:,} when it was requested. Refuse it and request it again."
        )
    _decided(row, "approved", actor, name, comment)
    _append(
        K.ERASURE_APPROVED,
        row.id,
        row.workspace,
        actor or row.requested_by,
        reason=comment,
        thread=row.thread,
    )


def _decided(row: ErasureRow, state: str, actor: str, name: str, comment: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_erasure SET state = %s::varchar, decided_by = %s::varchar, "
            "decided_by_name = %s::varchar, decided_at = clock_timestamp(), comment = %s::text "
            "WHERE id = %s::uuid AND state = 'requested'",
            (state, person(actor), name, comment, row.id),
        )
        if cursor.rowcount != 1:
            raise NotAllowedNow("Somebody else has decided this erasure.")


def _append(
    kind: K, ident: UUID, workspace: UUID, actor: str, *, reason: str, thread: UUID
) -> None:
    columns = None if kind is K.ERASURE_REQUESTED else _DECIDED
    data = {"erasure": str(ident), "thread": str(thread), "reason": reason}
    change = RowChange({"gp_erasure": [ident]}, columns=columns)
    append(workspace, [NewEvent(kind, data, actor)], change)
    announce_board(workspace)

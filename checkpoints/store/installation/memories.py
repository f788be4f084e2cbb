"""Memory: remember, correct and forget. Each change has its event in the workspace's log.

The log has hashes with a salt that lies beside the text: what is forgotten is gone with its salt,
and nothing of it can be told from the log. Changes of one workspace follow each other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import batched
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints.errors import InvalidValue, LeaseLost, NotAllowedNow
from checkpoints.log.closed_threads import refuse_erased
from checkpoints.log.recorded import RowChange, is_on_record
from checkpoints.memories import (
    MemoryRow,
    NewMemory,
    check_memory,
    check_metadata,
    check_text,
    item_of,
)
from checkpoints.postgres.guarded_rows import bound_waits, handle_each, not_set_aside
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.postgres.sql_files import sql_file
from checkpoints.queries import remembered as queries
from checkpoints.records import SALT_BYTES
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K

from ..statement.moves import NewEvent
from .workspaces import append, lock_workspaces

PART: Final = "memories"  # of the sweep
SQL: Final = sql_file(__file__, ready=not_set_aside(PART, "m.id"))
TABLE: Final = "gp_memory"
# Rows that one event records, and those that a sweep forgets.
AT_ONCE, EXPIRED_AT_ONCE = 40, 200
_FORGOTTEN: Final = ("content", "gone_at", "gone_by", "gone_reason")
_CORRECTED: Final = ("content", "revision", "revised_at", "revised_by")
EXPIRED: Final = "It expired."
PUT_AGAIN: Final = "Put again in its store."
OTHERS_ITEM: Final = "{author} wrote the item that is there, and only they replace it."
HELD: Final = "A legal hold is set on the thread that this came from."


def remember(
    workspace: UUID,
    new: NewMemory,
    *,
    actor: str,
    key: str | None = None,
    lease: UUID | None = None,
    replaces_others: bool = False,
) -> MemoryRow:
    """Keep a memory; with the `key` of one that is there, return that one.

    An item of a store corrects the one that has its place; with `replaces_others` also that of
    somebody else. With a `lease` it is kept only while its thread has it.
    Raises InvalidValue, LeaseLost, NotAllowedNow for the item of somebody else, and ContentErased
    where it would be of a thread that is closed.
    """
    check_memory(new)
    address = item_of(new.metadata)
    ident: UUID = uuid7()
    where = new.where
    params: dict[str, Any] = {
        "id": ident,
        "workspace": workspace,
        "scope": new.scope,
        "owner": new.owner,
        "kind": new.kind,
        "text": new.text,
        "metadata": deltas.canonical(dict(new.metadata)).decode(),
        "salt": os.urandom(SALT_BYTES),
        "outside": new.outside,
        "source": new.source,
        "thread": where and where.thread,
        "branch": where and where.branch,
        "step": where and where.step,
        "node": where.node if where else "",
        "key": key,
        "author": actor,
        "seconds": new.seconds,
        "lease": lease,
    }
    with transaction.atomic():
        # Who approves an erasure takes the same lock: nothing is kept of a thread that goes.
        lock_workspaces([workspace])
        for thread in {*([where.thread] if where else []), *_own_thread(new)}:
            refuse_erased(thread)
        if address is not None:
            former = queries.memory_item(
                *address, workspace=workspace, scope=new.scope, owner=new.owner
            )
            if former is not None:
                if lease is not None and not fetch_named(SQL.leased, (params["thread"], lease)):
                    raise LeaseLost(thread=params["thread"])
                if not replaces_others and _person(former.author) != _person(actor):
                    raise NotAllowedNow(OTHERS_ITEM.format(author=former.author))
                return _replaced(former, new, actor)
        with connection.cursor() as cursor:
            cursor.execute(SQL.remember, params)
            is_new = bool(cursor.rowcount)
        if is_new:
            data: dict[str, Any] = {"memory": str(ident), "scope": new.scope}
            data |= {"thread": str(where.thread)} if where else {}
            event = NewEvent(K.MEMORY_REMEMBERED, data, actor)
            _append(workspace, event, RowChange({TABLE: [ident]}))
            return queries.memory(ident, workspace=workspace)
        known = queries.memory_of_key(key, workspace=workspace) if key else None
    if known is None:
        raise LeaseLost(thread=where and where.thread)
    return known


def _replaced(former: MemoryRow, new: NewMemory, actor: str) -> MemoryRow:
    """The item with its new text, in a transaction that has locked the workspace."""
    if former.outside != new.outside:
        raise InvalidValue("$.outside", "differs from the item that is there: delete that first")
    values = dict(new.metadata)
    if (former.text, former.metadata) == (new.text, values):
        return former
    return _correct(former, new.text, values, reason=PUT_AGAIN, actor=actor)


def correct(
    ident: UUID,
    *,
    workspace: UUID,
    text: str,
    metadata: Mapping[str, Any] | None = None,
    reason: str,
    actor: str,
    revision: int | None = None,
) -> MemoryRow:
    """Give a memory another text, and metadata where they are given; the former ones are kept.

    Raises NotFound, NotAllowedNow for one that is gone, or is not at `revision`.
    """
    check_text(text)
    if metadata is not None:
        check_metadata(metadata)
    with transaction.atomic():
        lock_workspaces([workspace])
        row = queries.memory(ident, workspace=workspace)
        refuse_gone(row)
        if revision not in (None, row.revision):
            raise NotAllowedNow("This memory has changed since you looked at it.")
        values = row.metadata if metadata is None else dict(metadata)
        return _correct(row, text, values, reason=reason, actor=actor)


def _correct(
    row: MemoryRow, text: str, metadata: Mapping[str, Any], *, reason: str, actor: str
) -> MemoryRow:
    """Write the next revision of a memory, in a transaction that has locked the workspace."""
    params: dict[str, Any] = {
        "id": row.id,
        "text": text,
        "metadata": deltas.canonical(dict(metadata)).decode(),
        "salt": os.urandom(SALT_BYTES),
        "actor": actor,
    }
    with connection.cursor() as cursor:
        cursor.execute(SQL.keep_former, (row.id,))
        cursor.execute(SQL.correct, params)
    event = NewEvent(K.MEMORY_CORRECTED, {"memory": str(row.id), "reason": reason}, actor)
    _append(row.workspace, event, RowChange({TABLE: [row.id]}, columns=_CORRECTED))
    return queries.memory(row.id, workspace=row.workspace)


def forget(idents: Sequence[UUID], *, workspace: UUID, reason: str, actor: str) -> int:
    """Delete the texts of memories, former ones too, and say why; how many had one.

    Raises NotAllowedNow where a legal hold is set on a thread that one came from.
    """
    with transaction.atomic():
        lock_workspaces([workspace])
        if fetch_named(SQL.held, (list(idents), workspace)):
            raise NotAllowedNow(HELD)
        return _forget(idents, workspace, reason=reason, actor=actor)


def forget_thread(thread: UUID, *, workspace: UUID, reason: str, actor: str) -> tuple[int, int]:
    """Delete what came from an erased thread, or was its own; (memories, bytes).

    In the transaction of the erasure, which has locked the workspace.
    """
    rows = fetch_named(SQL.of_thread, (workspace, thread, str(thread)))
    n = _forget([row.id for row in rows], workspace, reason=reason, actor=actor, thread=thread)
    return n, sum(row.size for row in rows)


def forget_expired(*, actor: str) -> int:
    """Delete memories whose time is over; how many. One under a legal hold stays, unread."""

    def forget_one(row: tuple[UUID, UUID | None, UUID]) -> int:
        ident, _, workspace = row
        with transaction.atomic():
            bound_waits()
            lock_workspaces([workspace])
            return _forget([ident], workspace, reason=EXPIRED, actor=actor)

    rows = fetch_named(SQL.expired, (EXPIRED_AT_ONCE,))
    return handle_each(
        PART, [(row.id, row.thread_id, row.workspace_id) for row in rows], forget_one
    )


def refuse_gone(row: MemoryRow) -> None:
    """Raise NotAllowedNow for a memory that is gone."""
    if row.gone_at is not None:
        raise NotAllowedNow(f"This memory is gone: {row.gone_reason}")


def _append(workspace: UUID, event: NewEvent, change: RowChange) -> None:
    """Write the event of a change; a play, which has no apps, has no tables on record."""
    append(workspace, [event], change if is_on_record(TABLE) else None)


def _person(actor: str) -> str:
    """The one who acts, whatever they act through."""
    return actor.partition("/")[0]


def _own_thread(new: NewMemory) -> list[UUID]:
    return [UUID(new.owner)] if new.scope == "thread" else []


def _forget(
    idents: Sequence[UUID], workspace: UUID, *, reason: str, actor: str, thread: UUID | None = None
) -> int:
    n = 0
    for some in batched(sorted(idents), AT_ONCE):
        params = {"ids": list(some), "workspace": workspace, "actor": actor, "reason": reason}
        gone = [row.id for row in fetch_named(SQL.forget, params)]
        if not gone:
            continue
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM gp_memory_text WHERE memory_id = ANY(%s::uuid[])", (gone,))
        one = {"memory": str(gone[0])} if len(gone) == 1 else {"memories": len(gone)}
        data = one | ({"thread": str(thread)} if thread else {}) | {"reason": reason}
        event = NewEvent(K.MEMORY_FORGOTTEN, data, actor)
        _append(workspace, event, RowChange({TABLE: gone}, columns=_FORGOTTEN))
        n += len(gone)
    return n

"""Edit the state of a thread: a checkpoint that a person writes over its head."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from uuid_utils.compat import uuid7

from ..errors import NotFound, StaleVersion
from ..payload_kinds import FILE
from ..postgres.named_rows import fetch_named
from ..signals import state_settled
from ..state import deltas
from ..states import EDITABLE, EventKind, Status
from .encrypted.keys import sealing_cipher
from .encrypted.values import sealed
from .folder_duties import owe_folder
from .keyframes import known_digests
from .settled_streams import settle_stream
from .statement.checkpoint_rows import checkpoint_insert
from .statement.guards import in_statuses, refuse, versioned
from .statement.moves import Move, NewCheckpoint, NewEvent, head_sets, perform
from .statement.searchable import check as check_searchable
from .statement.searchable import follow

# What such a thread waits for follows from the state before: it pauses until a person resumes it.
_PAUSES = "th.status IN ('waiting', 'sleeping')"


def edit(
    thread: UUID,
    *,
    changes: Mapping[str, Any],
    reason: str,
    actor: str,
    expected_version: int | None = None,
) -> UUID:
    """Write a checkpoint by a person over the head; a waiting or sleeping thread pauses.

    1. Read the thread and its head.
    2. Make the checkpoint: encrypt the changes, compute the hash of the changed state.
    3. Insert it with its event and move the head, in one statement, if the head is still that of 1.
    4. If it is not, or the status allows no edit, raise.
    5. Where the agent keeps its state in files, note in the database that the folder is to be
       written, and announce it after the commit.

    Values are validated by the caller against the agent's JSON Schema. Returns the checkpoint.
    Raises NotFound, NotAllowedNow, InvalidValue, and StaleVersion when the thread moved since
    `expected_version` or since it was read here.
    """
    with transaction.atomic():
        settle_stream(thread, actor=actor)  # a worker that was killed may have left buffered steps
    row, point = _read_head(thread)
    check_searchable(row.agent_version_id, changes)
    checkpoint = _edited_checkpoint(thread, row, point, changes, actor=actor)
    event = NewEvent(EventKind.STATE_EDITED, {"changed": sorted(changes), "reason": reason}, actor)
    move = _head_move(thread, row, checkpoint, event)
    moved = perform(versioned(move, expected_version))
    if moved is None:
        if Status(row.status) in EDITABLE and expected_version is None:
            raise StaleVersion
        refuse(thread, expected_version=expected_version, wanted="Editing the state")
    elif point.payloads == FILE:
        _owe_folder(thread, moved.workspace_id, by=str(checkpoint.id))
    return checkpoint.id


def _read_head(thread: UUID) -> tuple[Any, Any]:
    """(the thread's row, its head with the channels and payloads of the code that wrote it)."""
    rows = fetch_named(
        "SELECT head, number, step, branch, branch_start, next_nodes::text, status, workspace_id, "
        "agent_version_id FROM gp_thread WHERE id = %s::uuid",
        (thread,),
    )
    if not rows:
        raise NotFound("There is no such thread.")
    [row] = rows
    [point] = fetch_named(
        # The head's: after a rollback over an upgrade the thread has worked with newer code.
        "SELECT c.schema_version, c.agent_version_id, v.graph ->> 'payloads' AS payloads, "
        "v.channels::text FROM gp_checkpoint c "
        "JOIN gp_agent_version v ON v.id = c.agent_version_id "
        "WHERE c.thread_id = %s::uuid AND c.id = %s::uuid",
        (thread, row.head),
    )
    return row, point


def _edited_checkpoint(
    thread: UUID, row: Any, point: Any, changes: Mapping[str, Any], *, actor: str
) -> NewCheckpoint:
    """Make the checkpoint after the head; may write the thread's key for encrypted channels."""
    cipher = partial(sealing_cipher, thread, workspace=row.workspace_id)
    delta = deltas.delta_of_changes(sealed(deltas.decode(point.channels), changes, cipher))
    digests = known_digests(thread, row.head)
    digests.follow(delta)
    return NewCheckpoint(
        id=uuid7(),
        number=row.number + 1,
        step=row.step,
        branch=row.branch,
        branch_start=row.branch_start,
        parent=row.head,
        parent_thread=thread,
        parent_number=row.number,
        source="edit",
        nodes=(),
        next_nodes=tuple(deltas.decode(row.next_nodes)),
        delta=delta,
        state_hash=digests.root,
        state_bytes=digests.size,
        schema_version=point.schema_version,
        agent_version=point.agent_version_id,
        created_by=actor,
        digests=digests,
    )


def _head_move(thread: UUID, row: Any, checkpoint: NewCheckpoint, event: NewEvent) -> Move:
    """Make the checkpoint the head, and pause a thread that waits for people or a time."""
    inserts, committed = checkpoint_insert(thread, checkpoint)
    # The hash is of the head that was read: over any other one it would be wrong.
    move = Move(thread, f"{in_statuses(EDITABLE)} AND th.head = %s::uuid", (row.head,))
    head_sets(move, checkpoint)
    follow(move, checkpoint, head=row.head, version=row.agent_version_id)
    move.express("status", f"CASE WHEN {_PAUSES} THEN 'paused' ELSE th.status END::varchar")
    move.express(
        "status_since", f"CASE WHEN {_PAUSES} THEN clock_timestamp() ELSE th.status_since END"
    )
    move.express("waiting_on", "NULL")
    move.events = [event, committed]
    move.inserts = inserts
    return move


def _owe_folder(thread: UUID, workspace: UUID, *, by: str) -> None:
    owe_folder(thread, by=by)
    settled = partial(
        state_settled.send_robust, sender=None, thread_id=thread, workspace=workspace, owed=by
    )
    transaction.on_commit(settled, robust=True)

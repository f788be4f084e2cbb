"""What is read of an ephemeral thread: its state and its messages, from memory while they last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from checkpoints.durabilities import NOT_KEPT
from checkpoints.ephemeral import copies
from checkpoints.ephemeral.copies import Copy
from checkpoints.errors import ContentAway, NotFound
from checkpoints.views import InputRow, ThreadRow
from dashboard.documents.state_document import document
from dashboard.documents.state_shape import State


def copy_of(row: ThreadRow) -> Copy:
    """The copy of a thread; raises NotFound once it is gone, ContentAway."""
    copy = copies.load(row.id)
    if copy is None:
        raise NotFound(NOT_KEPT)
    return copy


def state_in_memory(row: ThreadRow) -> State:
    """The state of an ephemeral thread as a document; `context` says until when it lasts."""
    copy = copy_of(row)
    until = datetime.now(UTC) + timedelta(seconds=copy.seconds)
    context = {
        "durability": row.durability,
        "note": NOT_KEPT,
        "in_memory_until": until.isoformat(timespec="seconds"),
        "next_nodes": list(copy.now.next_nodes),
        "schema_version": copy.schema_version,
        "config": dict(copy.config),
    }
    return document(row, copy.state, context, step=copy.now.step, at=row.last_at)


def inputs_in_memory(row: ThreadRow) -> list[InputRow]:
    """Messages that no turn has taken; none while the memory does not answer."""
    try:
        waiting = copies.messages(row.id)
    except ContentAway:
        return []
    return [
        InputRow(n, m.message, m.actor, datetime.fromtimestamp(m.at, UTC))
        for n, m in enumerate(waiting, 1)
    ]

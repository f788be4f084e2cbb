"""What is read of an ephemeral thread: its state and its messages, from memory while they last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from checkpoints.durabilities import NOT_KEPT
from checkpoints.ephemeral import copies
from checkpoints.ephemeral.copies import Copy
from checkpoints.errors import ContentAway, NotFound
from checkpoints.states import PLAIN
from checkpoints.views import InputRow, ThreadRow
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
    return State(
        name=row.name,
        session_id=row.name,
        version=row.version,
        step=copy.now.step,
        status=PLAIN[row.status],
        thread_status=str(row.status),
        created_at=row.created_at,
        updated_at=row.last_at,
        context={
            "thread": str(row.id),
            "title": row.title,
            "agent": row.agent,
            "agent_version": row.version_label,
            "labels": row.labels,
            "durability": row.durability,
            "note": NOT_KEPT,
            "in_memory_until": until.isoformat(timespec="seconds"),
            "next_nodes": list(copy.now.next_nodes),
            "schema_version": copy.schema_version,
            "config": dict(copy.config),
        },
        artifacts=[],
        state=copy.state,
    )


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

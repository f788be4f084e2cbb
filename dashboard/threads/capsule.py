"""Export a thread as a capsule, and import one."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

from approvals.verification.integrity import integrity_of
from checkpoints import queries, store
from checkpoints.limits import NAME_MAX
from checkpoints.views import CheckpointRow, ThreadRow
from dashboard.errors import Invalid, NotAllowedNow, translated
from dashboard.fields.validation import (
    check_text,
)
from dashboard.identity.permissions import (
    Actor,
    closed,
    require,
)
from dashboard.threads.capsules.exports import Capsule, capsule_of, threads_in
from dashboard.threads.capsules.imports import Imported, import_capsule
from dashboard.threads.capsules.memories import MemoriesAlong
from dashboard.threads.target import thread_for


@translated()
def export(
    actor: Actor,
    thread_id: UUID,
    number: int | None = None,
    *,
    children: bool = False,
    memories: bool = False,
) -> Capsule:
    """A capsule of the thread, or of the checkpoint of this number; logged in the workspace.

    With `children` all threads of the tree below come along, with `memories` the texts of memory
    that these threads refer to and the actor may see.
    """
    thread, point = _target(actor, thread_id, number, children=children)
    threads = threads_in(thread_id, bases=point is None, children=children)
    integrity = integrity_of(threads, workspace=actor.workspace, by=actor.id)
    capsule = capsule_of(
        thread,
        point,
        children=children,
        integrity=integrity.values(),
        reader=actor if memories else None,
    )
    if thread.erased is not None:
        raise NotAllowedNow(closed(thread.erased), status=str(thread.status))
    # No title: this log is not erased.
    payload: dict[str, Any] = {"thread": str(thread_id), "number": number}
    if children:
        payload["children"] = capsule.children
    if memories:
        payload["memories"] = capsule.memories.texts
    store.log_export(
        actor.workspace,
        data=payload | {"seq": capsule.seq, "hash": capsule.hash, "capsule": capsule.manifest_sha},
        actor=actor.id,
    )
    return capsule


@translated()
def memories_along(
    actor: Actor, thread_id: UUID, number: int | None = None, *, children: bool = False
) -> MemoriesAlong:
    """Count the memories that a capsule with `memories` would hold, and export nothing."""
    thread, point = _target(actor, thread_id, number, children=children)
    if thread.erased is not None:
        raise NotAllowedNow(closed(thread.erased), status=str(thread.status))
    capsule = capsule_of(thread, point, children=children, reader=actor)
    capsule.close()
    return capsule.memories


def _target(
    actor: Actor, thread_id: UUID, number: int | None, *, children: bool
) -> tuple[ThreadRow, CheckpointRow | None]:
    """The thread and the checkpoint that are to be exported; raises Invalid and refusals."""
    if children and number is not None:
        raise Invalid("$.children", "are not taken with one checkpoint")
    thread = thread_for(actor, "export", thread_id)
    point = None if number is None else queries.checkpoint_by_number(thread_id, number)
    return thread, point


@translated()
def import_thread(actor: Actor, path: Path, *, name: str | None = None) -> Imported:
    """Bring in what a capsule holds, paused; nothing of it where anything does not hold."""
    require(actor, "import")
    if name is not None:
        check_text("$.name", name, NAME_MAX, required=True)
    return import_capsule(actor, path, name=name)

"""Export a thread as a capsule, and import one."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from approvals.verification.integrity import integrity_of
from checkpoints import queries, store
from checkpoints.limits import NAME_MAX
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
from dashboard.threads.target import thread_for


@translated()
def export(
    actor: Actor, thread_id: UUID, number: int | None = None, *, children: bool = False
) -> Capsule:
    """A capsule of the thread, or of the checkpoint of this number; logged in the workspace.

    With `children` all threads of the tree below come along.
    """
    if children and number is not None:
        raise Invalid("$.children", "are not taken with one checkpoint")
    thread = thread_for(actor, "export", thread_id)
    point = None if number is None else queries.checkpoint_by_number(thread_id, number)
    threads = threads_in(thread_id, bases=point is None, children=children)
    integrity = integrity_of(threads, workspace=actor.workspace, by=actor.id)
    capsule = capsule_of(thread, point, children=children, integrity=integrity.values())
    if thread.erased is not None:
        raise NotAllowedNow(closed(thread.erased), status=str(thread.status))
    # No title: this log is not erased.
    payload = {"thread": str(thread_id), "number": number}
    if children:
        payload["children"] = capsule.children
    store.log_export(
        actor.workspace,
        data=payload | {"seq": capsule.seq, "hash": capsule.hash, "capsule": capsule.manifest_sha},
        actor=actor.id,
    )
    return capsule


@translated()
def import_thread(actor: Actor, path: Path, *, name: str | None = None) -> Imported:
    """Bring in what a capsule holds, paused; nothing of it where anything does not hold."""
    require(actor, "import")
    if name is not None:
        check_text("$.name", name, NAME_MAX, required=True)
    return import_capsule(actor, path, name=name)

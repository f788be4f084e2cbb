"""Control of threads by people: pause, resume, retry, edit, roll back, files."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from approvals import gates
from approvals.verification import keep_report
from checkpoints import queries, store
from checkpoints.errors import StaleVersion
from checkpoints.limits import NAME_MAX
from checkpoints.views import ThreadRow, VerificationRow
from dashboard import second_person
from dashboard.capsules.exports import Capsule, capsule_of, threads_in
from dashboard.capsules.imports import Imported, import_capsule
from dashboard.errors import Conflict, Invalid, NotAllowedNow, TooLarge, translated
from dashboard.fields.validation import (
    REASON_MAX,
    check_changes,
    check_text,
    clean_name,
    resulting_state,
)
from dashboard.identity.permissions import (
    Actor,
    allowed_actions,
    closed,
    refuse_beyond,
    require,
)
from dashboard.records.integrity import proof
from dashboard.records.integrity.record_integrity import integrity_of
from dashboard.wire.hints import look_again
from gatepost_command import COMMAND
from workers.external.settled import go_back_alone

from .previews.plans import EditPlan, RollBackPlan, edit_plan, roll_back_plan

# Verifying makes some 5,000 events a second: an answer in a few seconds.
VERIFY_NOW_EVENTS = 20_000


@translated()
def preview_edit(
    actor: Actor,
    thread_id: UUID,
    changes: Mapping[str, Any],
    expected_version: int | None = None,
    reason: str = "",
) -> EditPlan:
    """Plan an edit of the head: values it would change, requests it would withdraw."""
    thread = thread_for(actor, "edit", thread_id)
    check_text("$.reason", reason, REASON_MAX)
    _refuse_no_changes(changes)
    _same_version(thread, expected_version)
    old, new = changed_states(actor, thread, thread.head, changes)
    return edit_plan(thread, old, new)


@second_person.guarded("edit")
@translated()
def edit(
    actor: Actor,
    thread_id: UUID,
    changes: Mapping[str, Any],
    reason: str,
    expected_version: int | None = None,
) -> UUID:
    """Write a checkpoint with new values over the head and withdraw open requests; its id."""
    thread_for(actor, "edit", thread_id)
    check_text("$.reason", reason, REASON_MAX, required=True)
    _refuse_no_changes(changes)
    with transaction.atomic():
        # Also takes the thread's lock: the values are judged against the very head they join.
        gates.withdraw_open(thread_id, reason=f"The state was edited: {reason}", actor=actor.id)
        thread = queries.thread(thread_id, workspace=actor.workspace)
        _same_version(thread, expected_version)
        check_changed(actor, thread, thread.head, changes)
        return store.edit(
            thread_id,
            changes=changes,
            reason=reason,
            actor=actor.id,
            expected_version=expected_version,
        )


@translated()
def preview_roll_back(
    actor: Actor, thread_id: UUID, checkpoint_id: UUID, reason: str = ""
) -> RollBackPlan:
    """Plan a rollback to this checkpoint: effects undone or left, requests withdrawn."""
    thread = thread_for(actor, "roll_back", thread_id)
    check_text("$.reason", reason, REASON_MAX)
    return roll_back_plan(thread, checkpoint_id)


@second_person.guarded("roll_back")
@translated()
def roll_back(
    actor: Actor,
    thread_id: UUID,
    checkpoint_id: UUID,
    reason: str,
    expected_version: int | None = None,
    run_on: bool = False,
    compensate: bool = True,
    children: bool = False,
) -> RollBackPlan:
    """Move the head back; a worker undoes the effects of the plan, which is returned.

    With `children` those that were started after the target are cancelled, and what they did is
    undone as that of the thread is. Without `compensate` what happened outside stays as it is:
    somebody has seen to it by hand.
    """
    thread_for(actor, "roll_back", thread_id)
    check_text("$.reason", reason, REASON_MAX, required=True)
    with transaction.atomic():
        # The lock comes first: from here on no worker can finish an effect that the plan misses.
        gates.withdraw_open(
            thread_id, reason=f"The thread was rolled back: {reason}", actor=actor.id
        )
        thread = queries.thread(thread_id, workspace=actor.workspace)
        _same_version(thread, expected_version)
        plan = roll_back_plan(thread, checkpoint_id, payload=False)
        store.roll_back(
            thread_id,
            checkpoint=checkpoint_id,
            undo=plan.undo if compensate else (),
            reason=reason,
            actor=actor.id,
            head=plan.head,
            expected_version=expected_version,
            run_on=run_on,
        )
        if children:
            verb = "undo" if compensate else "cancel"
            only = queries.started_after(thread_id, checkpoint_id)
            store.reach_children(thread_id, verb, actor=actor.id, only=only)
    if thread.external is not None and not (compensate and plan.undo):
        go_back_alone(thread_id, owner=actor.id)
    return plan


@translated()
def verify(actor: Actor, thread_id: UUID) -> VerificationRow:
    """Compute the thread's past again and note what came out; Conflict for a very long one."""
    thread = thread_for(actor, "verify", thread_id)
    if thread.last_seq > VERIFY_NOW_EVENTS:
        raise Conflict(
            f"The thread has more than {VERIFY_NOW_EVENTS:,} events; that takes a while. Verify it "
            f"with `{COMMAND} verify {thread.id}`."
        )
    result = keep_report(proof.verify(thread.id), actor=actor.id).row
    # No event of the thread, but its pages say what is known of its record.
    transaction.on_commit(partial(look_again, thread_id, actor.workspace))
    return result


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


@translated()
def upload(actor: Actor, file: UploadedFile[Any]) -> dict[str, Any]:
    """Keep a file; the reference that state holds: {"$artifact", "name", "media_type", "size"}."""
    require(actor, "upload")
    check_upload_size(file.size or 0)
    name = clean_name(file.name or "")
    check_text("$.name", name, NAME_MAX)
    # The name decides, as everywhere in the product: what a browser claims is not checked either.
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return store.put_artifact(
        actor.workspace, name=name, media_type=media_type, chunks=file.chunks()
    )


def check_upload_size(size: int) -> None:
    """Refuse a file of more bytes than the setting GATEPOST_UPLOAD_MAX_BYTES."""
    limit = int(settings.GATEPOST_UPLOAD_MAX_BYTES)
    if size > limit:
        raise TooLarge("$.file", f"has {size:,} bytes, at most {limit:,} are taken")


def thread_for(actor: Actor, action: str, thread_id: UUID) -> ThreadRow:
    """The thread, after the rights: anyone who may not act learns nothing about it."""
    require(actor, action)
    thread = queries.thread(thread_id, workspace=actor.workspace)
    refuse_beyond(thread, action)
    return thread


@translated()
def refuse_preview(
    actor: Actor, action: str, thread_id: UUID, expected_version: int | None = None
) -> None:
    """Refuse a preview where the change would be refused for the thread's version or status.

    Pages do not call it: their forms stay, with what was typed, whatever the thread does meanwhile.
    """
    thread = thread_for(actor, action, thread_id)
    _same_version(thread, expected_version)
    allowance = allowed_actions(actor, thread)[action]
    if not allowance.allowed:
        raise NotAllowedNow(allowance.why, status=str(thread.status))


def _refuse_no_changes(changes: Mapping[str, Any]) -> None:
    if not changes:
        raise Invalid("$.changes", "change at least one channel")


def _same_version(thread: ThreadRow, expected: int | None) -> None:
    if expected is not None and thread.version != expected:
        raise StaleVersion(version=thread.version, status=str(thread.status))


def changed_states(
    actor: Actor, thread: ThreadRow, checkpoint_id: UUID, changes: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(state at the checkpoint, state after the changes), or Invalid with paths in `changes`."""
    target = queries.checkpoint(thread.id, checkpoint_id)
    old = queries.state_at(thread.id, checkpoint_id)
    version = queries.agent_version(target.agent_version_id)
    new = resulting_state(version, old, changes, workspace=actor.workspace, within="changes")
    return old, new


def check_changed(
    actor: Actor, thread: ThreadRow, checkpoint_id: UUID, changes: Mapping[str, Any]
) -> None:
    """Refuse changes as `changed_states` does; mostly without reading the state."""
    target = queries.checkpoint(thread.id, checkpoint_id)
    check_changes(
        queries.agent_version(target.agent_version_id),
        changes,
        state_bytes=target.state_bytes,
        state=lambda: queries.state_at(thread.id, checkpoint_id),
        workspace=actor.workspace,
        within="changes",
    )

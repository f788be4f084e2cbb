"""The one door for every change a person makes: browser, API and commands all come through here.

Each action checks the person's rights first, then that the thing lies in their workspace, then
calls the floors below; errors of those come out as ActionError. Database errors pass through.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from approvals import gates
from approvals.queries import ApprovalRow
from checkpoints import queries, store
from checkpoints.errors import AlreadyStarted, NotFound, StaleVersion
from checkpoints.views import AgentRow, ThreadRow

from .errors import Invalid, translated
from .live.hints import look_again
from .permissions import (
    RIGHTS,
    Actor,
    Allowance,
    actor_of,
    allowed_actions,
    may,
    require,
)
from .plans import EditPlan, ForkPlan, RollBackPlan, edit_plan, fork_plan, roll_back_plan
from .validation import (
    NAME_MAX,
    check_labels,
    check_node,
    check_text,
    clean_name,
    resulting_state,
)

__all__ = [
    "RIGHTS",
    "Actor",
    "Allowance",
    "actor_of",
    "allowed_actions",
    "cancel",
    "check_upload_size",
    "decide",
    "edit",
    "fork",
    "may",
    "pause",
    "preview_edit",
    "preview_fork",
    "preview_roll_back",
    "resume",
    "retry",
    "roll_back",
    "start_or_continue",
    "start_thread",
    "upload",
]

TITLE_MAX = 300
TEXT_MAX = 5_000
UPLOAD_MAX_BYTES = 200 * 1024 * 1024


def start_thread(
    actor: Actor,
    *,
    agent: str,
    input: Mapping[str, Any],
    title: str = "",
    name: str | None = None,
    labels: Mapping[str, str] | None = None,
    pause_at: str = "",
) -> UUID:
    """Begin a thread, or find the one of this agent and name; its id."""
    return start_or_continue(
        actor,
        agent=agent,
        input=input,
        title=title,
        name=name,
        labels=labels,
        pause_at=pause_at,
    )[0]


@translated()
def start_or_continue(
    actor: Actor,
    *,
    agent: str,
    input: Mapping[str, Any],
    title: str = "",
    name: str | None = None,
    labels: Mapping[str, str] | None = None,
    pause_at: str = "",
) -> tuple[UUID, bool]:
    """(thread, whether it is new). Raises Invalid with paths in `input`, or `$.agent` and so on."""
    require(actor, "start")
    check_text("$.agent", agent, 100, required=True)
    check_text("$.title", title, TITLE_MAX)
    if name is not None:
        check_text("$.name", name, NAME_MAX, required=True)
    check_labels(labels or {})
    try:
        version = queries.agent(agent)
    except NotFound as error:
        raise Invalid("$.agent", error.message) from error
    check_node("$.pause_at", pause_at, version)
    resulting_state(version, _defaults(version), input, workspace=actor.workspace, within="input")
    try:
        thread = store.start(
            version.id,
            input=input,
            workspace=actor.workspace,
            actor=actor.id,
            name=name,
            title=title,
            labels=labels,
            pause_at=pause_at,
        )
    except AlreadyStarted as found:
        return found.facts["thread"], False
    return thread, True


@translated()
def pause(
    actor: Actor,
    thread_id: UUID,
    before_node: str = "",
    *,
    expected_version: int | None = None,
) -> str:
    """Stop the thread, or let it stop before a node; "paused" or "requested"."""
    thread = _thread(actor, "pause", thread_id)
    if before_node:
        check_node("$.before_node", before_node, queries.agent_version(thread.agent_version_id))
    return store.pause(
        thread_id,
        actor=actor.id,
        before_node=before_node,
        expected_version=expected_version,
    )


@translated()
def resume(actor: Actor, thread_id: UUID, *, expected_version: int | None = None) -> None:
    """paused -> queued."""
    _thread(actor, "resume", thread_id)
    store.resume(thread_id, actor=actor.id, expected_version=expected_version)


@translated()
def retry(actor: Actor, thread_id: UUID, *, expected_version: int | None = None) -> None:
    """failed or attention -> queued, from the head."""
    _thread(actor, "retry", thread_id)
    store.retry(thread_id, actor=actor.id, expected_version=expected_version)


@translated()
def cancel(
    actor: Actor, thread_id: UUID, reason: str = "", *, expected_version: int | None = None
) -> None:
    """Any unfinished status -> cancelled; open requests are withdrawn with it."""
    _thread(actor, "cancel", thread_id)
    check_text("$.reason", reason, TEXT_MAX)
    with transaction.atomic():
        gates.withdraw_open(thread_id, reason="The thread was cancelled.", actor=actor.id)
        store.cancel(thread_id, actor=actor.id, reason=reason, expected_version=expected_version)


@translated()
def preview_edit(actor: Actor, thread_id: UUID, changes: Mapping[str, Any]) -> EditPlan:
    """What an edit of the head with these values would change and withdraw."""
    thread = _thread(actor, "edit", thread_id)
    old, new = _changed(actor, thread, thread.head, changes)
    return edit_plan(thread, old, new)


@translated()
def edit(
    actor: Actor,
    thread_id: UUID,
    changes: Mapping[str, Any],
    reason: str,
    expected_version: int | None = None,
) -> UUID:
    """Write a checkpoint with new values over the head and withdraw open requests; its id."""
    _thread(actor, "edit", thread_id)
    check_text("$.reason", reason, TEXT_MAX, required=True)
    if not changes:
        raise Invalid("$.changes", "change at least one channel")
    with transaction.atomic():
        # Also takes the thread's lock: the values are judged against the very head they join.
        gates.withdraw_open(thread_id, reason=f"The state was edited: {reason}", actor=actor.id)
        thread = queries.thread(thread_id, workspace=actor.workspace)
        _same_version(thread, expected_version)
        _changed(actor, thread, thread.head, changes)
        return store.edit(
            thread_id,
            changes=changes,
            reason=reason,
            actor=actor.id,
            expected_version=expected_version,
        )


@translated()
def preview_fork(
    actor: Actor,
    thread_id: UUID,
    checkpoint_id: UUID,
    changes: Mapping[str, Any] | None = None,
) -> ForkPlan:
    """What a fork from this checkpoint with these values would do and cost."""
    thread = _thread(actor, "fork", thread_id)
    old, new = _changed(actor, thread, checkpoint_id, changes or {})
    return fork_plan(thread, queries.checkpoint(thread_id, checkpoint_id), old, new)


@translated()
def fork(
    actor: Actor,
    thread_id: UUID,
    checkpoint_id: UUID,
    changes: Mapping[str, Any] | None = None,
    title: str = "",
    effects: str = "ask",
    reason: str = "",
) -> UUID:
    """Begin a new thread from a checkpoint of this one, which stays as it is; the new id."""
    thread = _thread(actor, "fork", thread_id)
    check_text("$.title", title, TITLE_MAX)
    check_text("$.reason", reason, TEXT_MAX)
    if effects not in ("ask", "run"):
        raise Invalid("$.effects", "must be ask or run")
    _changed(actor, thread, checkpoint_id, changes or {})
    born = store.fork(
        thread_id,
        checkpoint=checkpoint_id,
        changes=changes or {},
        actor=actor.id,
        title=title,
        effects=effects,
        reason=reason,
    )
    # Nothing is written to the base, but its pages list the fork.
    transaction.on_commit(partial(look_again, thread_id, actor.workspace))
    return born


@translated()
def preview_roll_back(actor: Actor, thread_id: UUID, checkpoint_id: UUID) -> RollBackPlan:
    """What a rollback to this checkpoint would undo, leave and withdraw."""
    return roll_back_plan(_thread(actor, "roll_back", thread_id), checkpoint_id)


@translated()
def roll_back(
    actor: Actor,
    thread_id: UUID,
    checkpoint_id: UUID,
    reason: str,
    expected_version: int | None = None,
    run_on: bool = False,
) -> RollBackPlan:
    """Move the head back; a worker undoes the effects of the plan, which is returned."""
    _thread(actor, "roll_back", thread_id)
    check_text("$.reason", reason, TEXT_MAX, required=True)
    with transaction.atomic():
        # The lock comes first: from here on no worker can finish an effect that the plan misses.
        gates.withdraw_open(
            thread_id, reason=f"The thread was rolled back: {reason}", actor=actor.id
        )
        thread = queries.thread(thread_id, workspace=actor.workspace)
        _same_version(thread, expected_version)
        plan = roll_back_plan(thread, checkpoint_id)
        store.roll_back(
            thread_id,
            checkpoint=checkpoint_id,
            undo=plan.undo,
            reason=reason,
            actor=actor.id,
            head=plan.head,
            expected_version=expected_version,
            run_on=run_on,
        )
    return plan


@translated()
def decide(
    actor: Actor,
    approval_id: UUID,
    verdict: str,
    proposal_hash: str,
    comment: str = "",
    args: Any = None,
) -> ApprovalRow:
    """Record the person's verdict on exactly the proposal they saw."""
    require(actor, "decide")
    check_text("$.verdict", verdict, 40, required=True)
    check_text("$.proposal_hash", proposal_hash, 100, required=True)
    check_text("$.comment", comment, TEXT_MAX)
    if args is not None and verdict != "respond":
        raise Invalid("$.args", f"are not taken with the verdict {verdict}")
    return gates.decide(
        approval_id,
        workspace=actor.workspace,
        reviewer=gates.Reviewer(id=actor.id, name=actor.name),
        verdict=verdict,
        proposal_hash=proposal_hash,
        comment=comment,
        args=args,
    )


@translated()
def upload(actor: Actor, file: UploadedFile[Any]) -> dict[str, Any]:
    """Keep a file; the reference that state holds: {"$artifact", "name", "media_type", "size"}."""
    require(actor, "upload")
    check_upload_size(file.size or 0)
    name = clean_name(file.name or "")
    # The name decides, as everywhere in the product: what a browser claims is not checked either.
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return store.put_artifact(
        actor.workspace, name=name, media_type=media_type, chunks=file.chunks()
    )


def check_upload_size(size: int) -> None:
    """Refuse a file of more bytes than the setting GATEPOST_UPLOAD_MAX_BYTES (200 MB)."""
    limit = int(getattr(settings, "GATEPOST_UPLOAD_MAX_BYTES", UPLOAD_MAX_BYTES))
    if size > limit:
        raise Invalid("$.file", f"has {size:,} bytes, at most {limit:,} are taken")


def _thread(actor: Actor, action: str, thread_id: UUID) -> ThreadRow:
    """The thread, after the rights: whoever may not act learns nothing about it."""
    require(actor, action)
    return queries.thread(thread_id, workspace=actor.workspace)


def _same_version(thread: ThreadRow, expected: int | None) -> None:
    if expected is not None and thread.version != expected:
        raise StaleVersion(version=thread.version, status=str(thread.status))


def _changed(
    actor: Actor, thread: ThreadRow, checkpoint_id: UUID, changes: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(state at the checkpoint, state after the changes), or Invalid with paths in `changes`."""
    target = queries.checkpoint(thread.id, checkpoint_id)
    old = queries.state_at(thread.id, checkpoint_id)
    version = queries.agent_version(target.agent_version_id)
    new = resulting_state(version, old, changes, workspace=actor.workspace, within="changes")
    return old, new


def _defaults(version: AgentRow) -> dict[str, Any]:
    return {
        channel: spec["default"] for channel, spec in version.channels.items() if "default" in spec
    }

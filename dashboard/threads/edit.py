"""Control of threads by people: pause, resume, retry, edit, roll back, files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self
from uuid import UUID

from django.db import transaction
from pydantic import RootModel

from approvals import gates
from checkpoints import queries, store
from checkpoints.views import ThreadRow
from dashboard.errors import Invalid, translated
from dashboard.fields.validation import (
    REASON_MAX,
    check_changes,
    check_text,
    resulting_state,
)
from dashboard.identity.permissions import (
    Actor,
)
from dashboard.kit import second_person
from dashboard.kit.shapes.requests import Changes, RequestShape
from dashboard.kit.shapes.texts import Reason
from dashboard.threads.plans.changes import EditPlan, edit_plan
from dashboard.threads.preview_shapes import ExpectedCalls
from dashboard.threads.target import same_version, thread_for
from dashboard.threads.thread_shapes import ThreadDetail


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
    same_version(thread, expected_version)
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
        same_version(thread, expected_version)
        check_changed(actor, thread, thread.head, changes)
        return store.edit(
            thread_id,
            changes=changes,
            reason=reason,
            actor=actor.id,
            expected_version=expected_version,
        )


def _refuse_no_changes(changes: Mapping[str, Any]) -> None:
    if not changes:
        raise Invalid("$.changes", "change at least one channel")


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


class Edit(RequestShape):
    """New values over the head; `reason` is required unless it is a preview."""

    changes: Changes
    reason: Reason = ""


class EditPreview(ExpectedCalls):
    """Values that an edit would change, and requests that it would withdraw.

    The calls are the finished ones of the step in progress.
    """

    head: UUID
    version: int
    patch: list[dict[str, Any]]
    withdrawn_approvals: list[UUID]

    @classmethod
    def of(cls, plan: EditPlan) -> Self:
        """The plan for the wire."""
        return cls(
            head=plan.head,
            version=plan.version,
            patch=list(plan.patch),
            withdrawn_approvals=[a.id for a in plan.approvals],
            **cls.as_json(plan.expected),
        )


class EditAnswer(RootModel[ThreadDetail | EditPreview]):
    """The thread as it is after an edit; with `?preview=1` what the edit would do."""

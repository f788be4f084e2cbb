"""The thread as the target of actions."""

from __future__ import annotations

from uuid import UUID

from checkpoints import queries
from checkpoints.errors import StaleVersion
from checkpoints.views import ThreadRow
from dashboard.errors import NotAllowedNow, translated
from dashboard.identity.permissions import (
    Actor,
    allowed_actions,
    refuse_beyond,
    require,
)
from dashboard.kit.action import Target
from dashboard.kit.terminal.arguments import thread_named
from dashboard.threads.answers import thread_detail
from dashboard.threads.thread_shapes import ThreadDetail


def _detail(actor: Actor, thread_id: UUID) -> ThreadDetail:
    return thread_detail(actor, thread_id)[1]


THREAD = Target(
    name="thread",
    find=thread_named,
    help="id, how it begins, or name",
    detail=_detail,
    page="thread",
)


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
    same_version(thread, expected_version)
    allowance = allowed_actions(actor, thread)[action]
    if not allowance.allowed:
        raise NotAllowedNow(allowance.why, status=str(thread.status))


def same_version(thread: ThreadRow, expected: int | None) -> None:
    """Raise StaleVersion where the thread has moved since it was looked at."""
    if expected is not None and thread.version != expected:
        raise StaleVersion(version=thread.version, status=str(thread.status))

"""The thread as the target of actions."""

from __future__ import annotations

from uuid import UUID

from dashboard.api.shapes.answers import thread_detail
from dashboard.api.shapes.rows import ThreadDetail
from dashboard.commands.terminal.arguments import thread_named
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Target


def _detail(actor: Actor, thread_id: UUID) -> ThreadDetail:
    return thread_detail(actor, thread_id)[1]


THREAD = Target(
    name="thread",
    find=thread_named,
    help="id, how it begins, or name",
    detail=_detail,
    page="thread",
)

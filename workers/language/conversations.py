"""Calls of a model whose provider holds the conversation, also when it no longer does."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from dataclasses import replace
from typing import TYPE_CHECKING

from checkpoints.records import Position
from checkpoints.states import EventKind
from checkpoints.store import NewEvent

from ..authoring.errors import ConversationGone
from ..authoring.language_models import Model, Reply, Request
from ..step import secret_values

if TYPE_CHECKING:
    from ..step.step import OpenStep

REASON_MAX = 300


def ask_in_conversation(
    model: Model, request: Request, step: OpenStep, position: Position
) -> Reply | Awaitable[Reply]:
    """Call a model; where the conversation is gone, call it again without, or fail.

    `if_gone` of the request decides. The loss and that choice become an event beside the record of
    the call. Raises ConversationGone for the choice "fail".
    """
    try:
        returned = model(request)
    except ConversationGone as gone:
        return model(_restarted(request, gone, step, position))
    if inspect.isawaitable(returned):
        return _awaited(model, request, returned, step, position)
    return returned


async def _awaited(
    model: Model, request: Request, returned: Awaitable[Reply], step: OpenStep, position: Position
) -> Reply:
    try:
        return await returned
    except ConversationGone as gone:
        again = model(_restarted(request, gone, step, position))
        return await again if inspect.isawaitable(again) else again


def _restarted(
    request: Request, gone: ConversationGone, step: OpenStep, position: Position
) -> Request:
    """Report the loss; the request as the first one of another conversation."""
    p = position
    data = {
        "node": p.node,
        "branch": p.branch,
        "step": p.step,
        "key": p.key,
        "conversation": gone.conversation,
        "if_gone": request.if_gone,
        "messages": len(request.chat),
    }
    if gone.reason:
        data["reason"] = secret_values.masked(gone.reason, step.secrets)[:REASON_MAX]
    step.add_event(NewEvent(EventKind.CONVERSATION_LOST, data, step.work.owner))
    if request.if_gone == "fail" or not request.conversation:
        raise gone
    return replace(request, conversation="")

"""Send a message to a living thread; its next step takes it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pydantic import Field

from checkpoints import queries, store
from checkpoints.durabilities import TTL_DEFAULT
from checkpoints.ephemeral import copies
from checkpoints.signals import Store, thread_changed, thread_queued
from checkpoints.states import EventKind
from checkpoints.views import AgentRow, ThreadRow
from dashboard.errors import Conflict, NotAllowedNow
from dashboard.fields.validation import MESSAGE_BYTES, check_message
from dashboard.identity.permissions import Actor, allowed_actions, no_message_channel
from dashboard.kit.action import Action
from dashboard.kit.shapes.requests import RequestShape
from dashboard.threads.target import same_version, thread_for
from dashboard.threads.thread_shapes import ThreadDetail

from .target import THREAD


class SendInput(RequestShape):
    """A message for the next step: any JSON that fits an item of the agent's message channel."""

    message: Any = Field(description=f"At most {MESSAGE_BYTES:,} bytes.")


def send_input(
    actor: Actor, wanted: SendInput, thread_id: UUID, *, expected_version: int | None
) -> int:
    """Keep a message for the next step of a living thread; the number of its event.

    Of an ephemeral thread it lies in memory, without an event: 0.
    """
    thread = thread_for(actor, "input", thread_id)
    if not thread.message_channel:
        raise Conflict(no_message_channel(thread), status=str(thread.status))
    version = queries.agent_version(thread.agent_version_id)
    check_message(version, wanted.message, workspace=actor.workspace)
    if thread.is_ephemeral:
        _buffer(actor, thread, version, wanted.message, expected_version)
        return 0
    return store.send_input(
        thread_id, message=wanted.message, actor=actor.id, expected_version=expected_version
    )


def _buffer(
    actor: Actor, thread: ThreadRow, version: AgentRow, message: Any, expected: int | None
) -> None:
    """Put a message into memory and ring for the turn that takes it; raises Conflict."""
    same_version(thread, expected)
    allowance = allowed_actions(actor, thread)["input"]
    if not allowance.allowed:
        raise NotAllowedNow(allowance.why, status=str(thread.status))
    queue, seconds = version.queue, version.ttl or TTL_DEFAULT
    copies.send(thread.id, queue=queue, message=message, actor=actor.id, ttl=seconds)
    thread_queued.send_robust(sender=Store, thread_id=thread.id, queue=queue)
    thread_changed.send_robust(
        sender=Store,
        thread_id=thread.id,
        workspace=thread.workspace,
        seq=thread.last_seq,
        more_follows=False,
    )


INPUT = Action(
    name="thread.input",
    right="input",
    target=THREAD,
    versioned=True,
    takes=SendInput,
    checked_apart=("message",),
    answers=ThreadDetail,
    perform=send_input,
    events=(EventKind.INPUT_RECEIVED,),
    summary="Send a message that the next step takes",
    description="200: it is kept and stands in `inputs` until it is taken. It wakes nobody. 202: "
    "the agent is ephemeral; the message is in memory only, and begins the thread's next turn.",
    buffered=lambda seq: seq == 0,
    help="send a message that the next step takes",
    done=lambda *_: "Sent. The next step will use it.",
    examples="threads input demo-flights --text 'Look at the north as well'\n"
    """threads input order-17 '{"text": "use the other file"}'""",
)

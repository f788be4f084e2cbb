"""Reading encrypted channels: by the roles that their agent names, each time with an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, Field

from checkpoints import queries, store
from checkpoints.limits import NAME_MAX
from checkpoints.state.encrypted import is_envelope, readers_of
from checkpoints.states import WorkspaceEventKind
from checkpoints.views import CheckpointRow, ThreadRow
from dashboard.errors import Forbidden, Missing, NotAllowedNow, translated
from dashboard.identity.permissions import Actor, closed, either, require
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import Id
from dashboard.threads.page.encrypted_channels import EncryptedChannel


@dataclass(frozen=True, slots=True)
class Revealed:
    """The value of an encrypted channel at a checkpoint."""

    thread: ThreadRow
    checkpoint: CheckpointRow
    channel: EncryptedChannel
    value: Any


@translated()
def reveal(
    actor: Actor, thread_id: UUID, channel: str, checkpoint_id: UUID | None = None
) -> Revealed:
    """The value of an encrypted channel, at the head or at another checkpoint of the thread.

    1. Check the right, then find thread, checkpoint and channel.
    2. Check that a role of the reader is among those that the agent named for the channel, in the
       version that wrote the checkpoint.
    3. Decrypt; a key that is not here is a Conflict and no reading.
    4. Record who read what in the log of the workspace, then answer. The value is in no event.
    """
    require(actor, "reveal")
    thread = queries.thread(thread_id, workspace=actor.workspace)
    point = queries.checkpoint(thread_id, checkpoint_id or thread.head)
    declared = readers_of(queries.agent_version(point.agent_version_id).channels)
    if channel not in declared:
        raise Missing("There is no encrypted channel of this name at this checkpoint.")
    result = EncryptedChannel(channel, declared[channel])
    if not result.is_readable(actor.roles):
        raise Forbidden(f"Needs the role {either(result.readers)}.")
    if thread.erased is not None:
        raise NotAllowedNow(closed(thread.erased), status=str(thread.status))
    state = queries.state_at(thread_id, point.id)
    if channel not in state:
        raise Missing("The state has no value for this channel.")
    value = state[channel]
    if is_envelope(value):
        value = store.reading_cipher(thread_id).open(channel, value)
    data = {
        "thread": str(thread_id),
        "channel": channel,
        "checkpoint": str(point.id),
        "number": point.number,
    }
    kind = WorkspaceEventKind.CHANNEL_REVEALED
    store.log_export(actor.workspace, data=data, actor=actor.id, kind=kind)
    return Revealed(thread, point, result, value)


class Reveal(RequestShape):
    """Which encrypted channel to read, and at which checkpoint; without one at the head."""

    channel: Annotated[str, Field(min_length=1, max_length=NAME_MAX)]
    checkpoint: Id | None = None


class RevealedChannel(BaseModel):
    """The value of an encrypted channel at a checkpoint; `readers` are the roles that may read."""

    thread: UUID
    checkpoint: UUID
    number: int
    channel: str
    readers: list[str]
    value: Any


def revealed_answer(revealed: Revealed) -> RevealedChannel:
    """The value that somebody read of an encrypted channel."""
    return RevealedChannel(
        thread=revealed.thread.id,
        checkpoint=revealed.checkpoint.id,
        number=revealed.checkpoint.number,
        channel=revealed.channel.name,
        readers=list(revealed.channel.readers),
        value=revealed.value,
    )

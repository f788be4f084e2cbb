"""News from below: a queued thread rings a doorbell; a lost ring is made good by the sweep."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.dispatch import receiver

from approvals.notify.stuck_threads import announce_waiting_work
from approvals.signals import decision_announced
from checkpoints import store
from checkpoints.agent_versions import EXTERNAL_QUEUE
from checkpoints.signals import child_ended, thread_queued

from .doorbell import TASK
from .producers import count_messages, send, send_first

RING_KEPT_SECONDS = 5.0


@receiver(thread_queued, dispatch_uid="workers.broker.doorbell")
@receiver(decision_announced, dispatch_uid="workers.broker.doorbell.announced")
def ring(*, thread_id: UUID, queue: str, **_kwargs: Any) -> bool:
    """Send the id to the queue; False: the broker is away, which may never fail a commit."""
    if queue == EXTERNAL_QUEUE:
        return announce_waiting_work() > 0  # a webhook rings where no worker of ours is
    return send(TASK, str(thread_id), queue=queue)


@receiver(child_ended, dispatch_uid="workers.broker.child_ended")
def deliver_end(*, thread_id: UUID, parent: UUID, **_kwargs: Any) -> None:
    """Let those that wait for the end of a child continue; what fails here the sweep makes good."""
    store.deliver(parent, actor=f"thread:{thread_id}")


def ring_at(worker: str, *, thread_id: UUID) -> bool:
    """Send the id to one worker alone; dropped unread when it is busy, the sweep rings again."""
    from .own_queue import own_queue

    return send(TASK, str(thread_id), queue=own_queue(worker), expires=RING_KEPT_SECONDS)


def ring_first(thread: UUID, *, queue: str) -> bool:
    """Send the id so that it is taken before all that waits; False: the broker is away."""
    return send_first(TASK, str(thread), queue=queue)


def rings_waiting(queue: str) -> int:
    """Count the doorbells that nobody has answered yet; 0 also while the broker is away."""
    return count_messages(queue)

"""News from the floors below, passed on to the hubs of all web processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.dispatch import receiver

from checkpoints.ephemeral import copies
from checkpoints.errors import ContentAway
from checkpoints.hot import utterances
from checkpoints.hot.streams import HotStoreAway
from checkpoints.signals import (
    activity_progressed,
    board_changed,
    record_judged,
    stuck_noted,
    thread_changed,
    thread_erased,
)
from dashboard.wire import hints, progress

from .hint_pace import Coalescer

type Hint = tuple[UUID, UUID, int]
"""Thread, workspace, seq. Most are never sent: their text is written when one is."""


def _publish(some: Sequence[Hint]) -> None:
    # `publish` is looked up at each call, since tests replace it.
    hints.publish(*[f'{{"t":"{thread}","w":"{owner}","s":{seq}}}' for thread, owner, seq in some])


_hints: Coalescer[Hint] = Coalescer(_publish)


@receiver(thread_changed, dispatch_uid="dashboard.live.thread_changed")
def notify_hubs(
    *, thread_id: UUID, workspace: UUID, seq: int, more_follows: bool = False, **_kwargs: Any
) -> None:
    """A thread has new events: one hint, after the commit; simultaneous ones are sent together."""
    # Its integer: a UUID computes its hash in Python, and each step has news.
    _hints.offer(thread_id.int, (thread_id, workspace, seq), more_follows=more_follows)


@receiver(record_judged, dispatch_uid="dashboard.live.record_judged")
def notify_of_damage(*, thread_id: UUID, workspace: UUID, **_kwargs: Any) -> None:
    """Announce a change in what is known of a record; that is no event of its thread."""
    hints.look_again(thread_id, workspace)


@receiver(stuck_noted, dispatch_uid="dashboard.live.stuck_noted")
def show_stuck(*, thread_id: UUID, workspace: UUID, **_kwargs: Any) -> None:
    """Let the pages show that a thread is stuck; that is no event of it."""
    hints.look_again(thread_id, workspace)


@receiver(thread_erased, dispatch_uid="dashboard.live.thread_erased")
def forget_erased(*, thread_id: UUID, workspace: UUID, **_kwargs: Any) -> None:
    """The content of a thread is gone: its copies in Valkey go, and its pages look again."""
    progress.forget_progress(thread_id)
    with suppress(ContentAway):
        copies.forget(thread_id)  # of an ephemeral thread; else it ends by itself
    with suppress(HotStoreAway):
        utterances.forget(thread_id)
    hints.look_again(thread_id, workspace)


@receiver(board_changed, dispatch_uid="dashboard.live.board_changed")
def notify_boards(*, workspace: UUID, **_kwargs: Any) -> None:
    """A breaker was opened or released: the boards of its workspace look."""
    hints.look_at_board(workspace)


@receiver(activity_progressed, dispatch_uid="dashboard.live.activity_progressed")
def send_progress(
    *, thread_id: UUID, workspace: UUID, progress: Mapping[str, Any], **_kwargs: Any
) -> None:
    """A working activity says how far it is."""
    publish(thread_id, workspace, progress)


publish = progress.publish_progress

"""News for the floors above, sent after the commit and carrying ids only; no answer is read.

A lost signal is harmless: pages poll and workers sweep.
"""

from functools import partial
from uuid import UUID

from django.db import transaction
from django.dispatch import Signal


class Store:
    """The sender of what each step says: Django remembers the receivers of a sender it can name."""


thread_changed = Signal(use_caching=True)
"""thread_id: UUID, workspace: UUID, seq: int, more_follows: bool. Something about this thread is
new; with `more_follows` the next change is about to come, and one hint can stand for both."""

thread_queued = Signal(use_caching=True)
"""thread_id: UUID, queue: str. A worker should look at this thread."""

child_ended = Signal(use_caching=True)
"""thread_id: UUID, parent: UUID. A thread that another one started has ended."""

board_changed = Signal()
"""workspace: UUID. The board of this workspace shows something new that is no event of a thread."""

record_judged = Signal()
"""thread_id: UUID, workspace: UUID. A verification found the record damaged, or intact again."""

stuck_noted = Signal()
"""thread_id: UUID, workspace: UUID. The sweep has noted that a thread is stuck."""

activity_progressed = Signal()
"""thread_id: UUID, workspace: UUID, progress: {node, done, total, text}. Not history."""

state_settled = Signal()
"""thread_id: UUID, workspace: UUID, owed: str. A worker left this thread, or a person changed its
state; only of threads whose agent keeps its content in files. Their folder was noted as owed under
this name before: a lost signal leaves the note."""

verification_due = Signal()
"""owner: str. Sent with each sweep: verification in the background may continue."""

anchors_due = Signal()
"""owner: str. Sent with each sweep where anchors go out: their sender may continue."""

folders_due = Signal()
"""Folders of threads wait for the process that claims them; sent with each sweep."""

thread_erased = Signal()
"""thread_id: UUID, workspace: UUID. The content of this thread is gone; copies elsewhere go too."""

retention_due = Signal()
"""A retention rule is active; sent with each sweep: the receiver applies them to some threads."""


def announce_board(workspace: UUID) -> None:
    """Let the pages of a workspace look again after the commit."""
    send = partial(board_changed.send_robust, sender=None, workspace=workspace)
    transaction.on_commit(send, robust=True)

"""What the engine reads and writes of threads that a thread starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol
from uuid import UUID

from checkpoints import queries, store
from checkpoints.queries import ChildRow
from checkpoints.records import NewActivity, Work
from checkpoints.store import HandOff, NewCheckpoint, NewChild
from checkpoints.views import AgentRow

Points = Sequence[tuple[UUID, UUID, bytes]]
"""(thread, checkpoint, hash of the state there) of each child."""


class TreeLedger(Protocol):
    """The part of the engine's ledger that is about children."""

    def agent(self, work: Work, name: str) -> AgentRow: ...
    def spawn(
        self,
        work: Work,
        activity: NewActivity,
        agent: AgentRow,
        children: Sequence[NewChild],
        **more: Any,
    ) -> None: ...
    def hand_off(
        self, work: Work, checkpoint: NewCheckpoint, hand_off: HandOff, **more: Any
    ) -> None: ...
    def origin(self, work: Work) -> list[dict[str, str]] | None: ...
    def message_channel_of(self, work: Work, thread: UUID) -> str: ...
    def send(self, work: Work, activity: NewActivity, *, to: UUID, **more: Any) -> None: ...
    def cancel_child(
        self, work: Work, activity: NewActivity, *, child: UUID, **more: Any
    ) -> None: ...
    def children(self, work: Work, ids: Sequence[UUID]) -> dict[UUID, ChildRow]: ...
    def states_at(self, points: Points) -> list[dict[str, Any]]: ...
    def await_children(
        self, work: Work, joins: Sequence[Sequence[UUID]], *, seconds: float | None = None
    ) -> None: ...
    def look_for_children(self, work: Work) -> None: ...


class Tree:
    """The part of the database's ledger that is about children."""

    def agent(self, work: Work, name: str) -> AgentRow:
        """The version of an agent that a child of it begins with; raises NotFound."""
        return queries.agent(name, workspace=work.workspace)

    def spawn(
        self,
        work: Work,
        activity: NewActivity,
        agent: AgentRow,
        children: Sequence[NewChild],
        **more: Any,
    ) -> None:
        """Record the activity and start its children, in one statement."""
        store.spawn(work, activity, agent, children, **more)

    def hand_off(
        self, work: Work, checkpoint: NewCheckpoint, hand_off: HandOff, **more: Any
    ) -> None:
        """Commit the last step and begin its successor, in one statement."""
        store.commit_and_hand_off(work, checkpoint, hand_off, **more)

    def origin(self, work: Work) -> list[dict[str, str]] | None:
        """On whose behalf a child works: its parents, from the root down; None of a root."""
        return None if work.parent is None else queries.parents(work.thread)

    def message_channel_of(self, work: Work, thread: UUID) -> str:
        """Another thread's message channel, empty without one; raises NotFound."""
        return queries.thread(thread, workspace=work.workspace).message_channel

    def send(self, work: Work, activity: NewActivity, *, to: UUID, **more: Any) -> None:
        """Record a message and let its receiver have it."""
        store.send_message(work, activity, to=to, **more)

    def cancel_child(self, work: Work, activity: NewActivity, *, child: UUID, **more: Any) -> None:
        """Record that a child is to be cancelled; a sweep carries it out."""
        store.cancel_child(work, activity, child=child, **more)

    def children(self, work: Work, ids: Sequence[UUID]) -> dict[UUID, ChildRow]:
        """The rows of those of these threads that this thread started."""
        return queries.child_rows(work.thread, ids)

    def states_at(self, points: Points) -> list[dict[str, Any]]:
        """The states of children where they were joined."""
        return list(queries.states_at(points))

    def await_children(
        self, work: Work, joins: Sequence[Sequence[UUID]], *, seconds: float | None = None
    ) -> None:
        """Note what the thread is about to wait for."""
        store.await_children(work, joins, seconds=seconds)

    def look_for_children(self, work: Work) -> None:
        """Look once more for what came while the thread was being left."""
        store.deliver(work.thread, actor=work.owner)

"""Children in memory: how they are started, and what their parent sees of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from checkpoints.errors import LeaseLost, NotFound
from checkpoints.queries import ChildRow
from checkpoints.records import NewActivity, Work
from checkpoints.states import FINISHED, EventKind, Status
from checkpoints.store import HandOff, NewCheckpoint, NewChild, NewEvent
from checkpoints.store.statement.moves import first_checkpoint
from checkpoints.views import AgentRow

from .once import Once
from .people import cancel, insert_thread, send
from .starts import Origin, memory_config, start
from .tables import MemoryTables, Row, read


class Tree(Once):
    """The ledger of one worker in memory: threads that start others."""

    def agent(self, work: Work, name: str) -> AgentRow:
        known = self._tables.family.graphs.get(name)
        if known is None:
            raise NotFound(
                f"No agent named {name!r} plays along: Harness(graph, agents=[...]) takes others."
            )
        graph, version = known
        return AgentRow(
            id=version,
            agent=name,
            version=graph.version,
            fingerprint="in memory",
            label=name,
            description="",
            schema_version=graph.schema_version,
            schema={},
            channels=graph.describe_channels(),
            graph={"entry": list(graph.entry)},
            tools={},
            queue=graph.queue,
            created_at=self._tables.now(),
        )

    def spawn(
        self,
        work: Work,
        activity: NewActivity,
        agent: AgentRow,
        children: Sequence[NewChild],
        *,
        fan_out: UUID,
        at_most: int = 0,
        events: Sequence[NewEvent] = (),
    ) -> None:
        tables = self._tables
        parent = tables.row(work.thread)
        if parent.lease_token != work.token:
            raise LeaseLost(thread=work.thread)
        graph, version = tables.family.graphs[agent.agent]
        known = tables.family.children.setdefault(work.thread, [])
        for child in children:
            if child.id in tables.rows:
                continue
            origin = Origin(child.id, parent, waits=child.hold == "held", at_most=at_most)
            start(
                tables,
                graph,
                agent_version=version,
                input=child.input,
                actor=parent.started_by,
                title=child.title,
                effects=parent.effects,
                origin=origin,
            )
            known.append(child.id)
        started = {
            "activity": str(activity.id),
            "agent": agent.agent,
            "agent_version": str(agent.id),
            "children": [
                {"thread": str(child.id), "chain": str(tables.row(child.id).chain_id)}
                for child in children
            ],
        }
        new_event = NewEvent(EventKind.CHILD_STARTED, started, work.owner)
        result = {"children": [str(child.id) for child in children]}
        self.record(work, activity, result=result, events=[*events, new_event])

    def origin(self, work: Work) -> list[dict[str, str]] | None:
        results: list[dict[str, str]] = []
        parent = work.parent
        while parent in self._tables.rows:  # of a tape there may be no parents
            row = self._tables.rows[parent]
            results.append({"thread": str(row.id), "agent": row.agent, "title": row.title})
            parent = row.parent
        return results[::-1] or None

    def message_channel_of(self, work: Work, thread: UUID) -> str:
        graph, _ = self._tables.family.graphs[self._tables.row(thread).agent]
        return str(graph.message_channel)

    def send(
        self,
        work: Work,
        activity: NewActivity,
        *,
        to: UUID,
        result: Any,
        events: Sequence[NewEvent] = (),
    ) -> None:
        try:
            self.record(work, activity, result=result, events=events)
        finally:  # a worker that is lost right after it has sent it
            if (work.thread, activity.position, activity.revision) in self._tables.activities:
                actor = f"thread:{work.thread}"
                send(self._tables, to, message=activity.args["message"], actor=actor)

    def cancel_child(
        self,
        work: Work,
        activity: NewActivity,
        *,
        child: UUID,
        events: Sequence[NewEvent] = (),
    ) -> None:
        try:
            self.record(work, activity, result=None, events=events)
        finally:  # a worker that is lost right after it has recorded it
            if (work.thread, activity.position, activity.revision) in self._tables.activities:
                _cancel(self._tables, child, actor=f"thread:{work.thread}")

    def children(self, work: Work, ids: Sequence[UUID]) -> dict[UUID, ChildRow]:
        own = set(self._tables.family.children.get(work.thread, ()))
        now = {ident: self._tables.family.now(ident) for ident in ids}
        return {i: _child(self._tables, self._tables.row(n)) for i, n in now.items() if n in own}

    def states_at(self, points: Sequence[tuple[UUID, UUID, bytes]]) -> list[dict[str, Any]]:
        return [self._tables.materialise(thread, ident).state for thread, ident, _ in points]

    def await_children(
        self, work: Work, joins: Sequence[Sequence[UUID]], *, seconds: float | None = None
    ) -> None:
        self._tables.family.deadlines.pop(work.thread, None)
        if seconds is not None:
            self._tables.family.deadlines[work.thread] = self._tables.now().timestamp() + seconds

    def look_for_children(self, work: Work) -> None:
        """The harness looks after each child."""


def _cancel(tables: MemoryTables, thread: UUID, *, actor: str) -> None:
    """Cancel a thread and what it started, unless it has ended."""
    if tables.row(thread).status not in FINISHED:
        cancel(tables, thread, actor=actor)
    for child in tables.family.children.get(thread, ()):
        _cancel(tables, tables.family.now(child), actor=actor)


def _child(tables: MemoryTables, row: Row) -> ChildRow:
    return ChildRow(
        id=row.id,
        agent=row.agent,
        title=row.title,
        status=row.status,
        reason=row.status_reason,
        head=row.head,
        state_hash=tables.checkpoint(row.id, row.head).new.state_hash,
        last_seq=row.last_seq,
        last_hash=row.last_hash,
    )


def awaits(tables: MemoryTables, parent: UUID) -> bool:
    """Answer True if a thread waits for children, maybe beside requests."""
    row = tables.row(parent)
    waits = read(row.waiting_on)
    return row.status is Status.WAITING and isinstance(waits, dict) and "joins" in waits


def waiting_children(tables: MemoryTables, parent: UUID) -> Iterator[UUID]:
    """Children of a parent that have not ended, in their order; a held one is let begin."""
    for child in list(tables.family.children.get(parent, ())):
        row = tables.row(child)
        if row.status in FINISHED:
            continue
        waits = read(row.waiting_on)
        if isinstance(waits, dict) and waits.get("kind") == "limit":
            _wake(tables, child, {"by": "limit"})
        yield child


def look(tables: MemoryTables, parent: UUID, *, late: bool = False) -> bool:
    """Wake a parent whose children have done what it waits for; with `late` its time is over."""
    waits = read(tables.row(parent).waiting_on)
    statuses = [tables.row(child).status for child in tables.family.children.get(parent, ())]
    if not (late or any(_decided(join, statuses) for join in waits["joins"])):
        return False
    if late:
        until = tables.family.deadlines.pop(parent)
        tables.pass_time(until - tables.now().timestamp() + 0.001)
    _wake(tables, parent, {"by": "deadline" if late else "children"})
    return True


def _decided(join: Mapping[str, Any], statuses: Sequence[Status]) -> bool:
    """Answer True if the parent has to look: one that is woken too early waits again."""
    succeeded = sum(status is Status.SUCCEEDED for status in statuses)
    ended = sum(status in FINISHED for status in statuses)
    failed = ended - succeeded
    beyond = join["raises"] and failed > join["of"] - join["need"]
    return ended == len(statuses) or succeeded >= join["need"] or beyond


def _wake(tables: MemoryTables, thread: UUID, data: Mapping[str, Any]) -> None:
    event = NewEvent(EventKind.THREAD_WOKEN, data, "worker:harness")
    tables.move(thread, sets={"waiting_on": None}, status=Status.QUEUED, events=[event])


def handed_off(work: Work, hand_off: HandOff, checkpoint: NewCheckpoint) -> NewEvent:
    """The event with which a thread records its hand-off."""
    data = {
        "thread": str(hand_off.id),
        "agent": hand_off.agent.agent,
        "agent_version": str(hand_off.agent.id),
        "checkpoint": str(checkpoint.id),
    }
    return NewEvent(EventKind.THREAD_HANDED_OFF, data, work.owner)


def hand_over(
    tables: MemoryTables,
    giver: Row,
    hand_off: HandOff,
    checkpoint: NewCheckpoint,
    *,
    end: tuple[int, bytes],
) -> None:
    """Begin the successor of a thread, from its last checkpoint; in its place among its siblings.

    `end` is the event of the giver that the successor is bound to.
    """
    graph, version = tables.family.graphs[hand_off.agent.agent]
    tables.reducers[version] = graph.reducers
    first = first_checkpoint(
        step=checkpoint.step,
        parent=checkpoint.id,
        parent_thread=giver.id,
        parent_number=checkpoint.number,
        source="fork",
        next_nodes=graph.entry,
        delta=hand_off.delta,
        state_hash=hand_off.digests.root,
        state_bytes=hand_off.digests.size,
        schema_version=graph.schema_version,
        agent_version=version,
        created_by=giver.started_by,
        config=memory_config(graph) or None,
    )
    row = Row(
        id=hand_off.id,
        workspace=tables.workspace,
        agent=graph.name,
        agent_version=version,
        title=giver.title,
        started_by=giver.started_by,
        created_at=tables.now(),
        effects=giver.effects,
        base=giver.id,
        forked_from=checkpoint.id,
        parent=giver.parent,
        root=giver.root or giver.id,
        depth=giver.depth,
    )
    data = {
        "base": str(giver.id),
        "base_checkpoint": str(checkpoint.id),
        "base_number": checkpoint.number,
        "base_chain": str(giver.chain_id),
        "base_seq": end[0],
        "base_hash": end[1].hex(),
        "hand_off": True,
    }
    insert_thread(tables, row, first, EventKind.THREAD_FORKED, data)
    tables.family.successors[giver.id] = row.id
    for siblings in tables.family.children.values():
        if giver.id in siblings:
            siblings[siblings.index(giver.id)] = row.id

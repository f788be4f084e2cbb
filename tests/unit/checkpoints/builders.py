"""Threads for tests of the ground floor: agent versions by hand, and a worker in a few lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from uuid_utils.compat import uuid7

from checkpoints import leases, store
from checkpoints.queries.states import materialized
from checkpoints.records import NewActivity, Position, Work
from checkpoints.state import deltas
from checkpoints.state.channels import Digests
from checkpoints.state.deltas import Folder
from checkpoints.states import EventKind, Status
from checkpoints.store import NewCheckpoint, NewEvent

OPERATOR = "user:1"
CHANNELS: dict[str, Any] = {
    "goal": {"reducer": "last_value", "default": ""},
    "log": {"reducer": "append", "default": []},
    "facts": {"reducer": "merge", "default": {}},
    "total": {"reducer": "sum", "default": 0},
}
GRAPH: dict[str, Any] = {"entry": ["work"], "nodes": [{"name": "work", "then": ["work"]}]}


def rows(sql: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
    """What a statement answers."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall()) if cursor.description else []


def one(sql: str, params: Sequence[Any] = ()) -> Any:
    """The first column of the first row."""
    return rows(sql, params)[0][0]


def make_workspace(name: str = "") -> UUID:
    """A workspace of its own."""
    return store.create_workspace(name or f"workspace {uuid7()}", actor=OPERATOR)


def make_agent(
    name: str = "counting",
    *,
    channels: Mapping[str, Any] = CHANNELS,
    graph: Mapping[str, Any] = GRAPH,
    fingerprint: str = "f",
    queue: str = "gatepost",
) -> UUID:
    """An agent version as a worker would announce it."""
    return store.announce_version(
        agent=name,
        version=1,
        fingerprint=fingerprint,
        label=name.title(),
        description="",
        schema_version=1,
        schema={"type": "object"},
        channels=dict(channels),
        graph=dict(graph),
        tools={},
        queue=queue,
    )


def make_thread(*, workspace: UUID | None = None, agent: UUID | None = None, **more: Any) -> UUID:
    """A queued thread with the input {"goal": "count"} unless `input` says otherwise."""
    more.setdefault("input", {"goal": "count"})
    more.setdefault("actor", OPERATOR)
    return store.start(
        make_agent() if agent is None else agent,
        workspace=make_workspace() if workspace is None else workspace,
        **more,
    )


def acquired(thread: UUID, *, owner: str = "worker:1") -> Work:
    """The lease on a thread that must be free."""
    work = leases.acquire(thread, owner=owner)
    assert work is not None
    return work


class Driver:
    """A worker: keeps the state in memory and commits one checkpoint per step."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._load()

    def _load(self) -> None:
        state = materialized.materialise(self.work.thread, self.work.head).state
        reducers = materialized.reducers_of(self.work.agent_version)
        self.folder = Folder(state)
        self.digests = Digests.of(state, reducers)

    @property
    def state(self) -> dict[str, Any]:
        """The state at the head; read only."""
        return self.folder.state

    def next_checkpoint(self, delta: Mapping[str, Any], **more: Any) -> NewCheckpoint:
        """The checkpoint after `delta`, which is taken into the state."""
        work = self.work
        self.folder.add(dict(delta))  # type: ignore[arg-type]
        root = self.digests.update(dict(delta), self.folder.state)  # type: ignore[arg-type]
        values: dict[str, Any] = {
            "id": uuid7(),
            "number": work.number + 1,
            "step": work.step + 1,
            "branch": work.branch,
            "branch_start": work.branch_start,
            "parent": work.head,
            "parent_thread": work.thread,
            "parent_number": work.number,
            "source": "step",
            "nodes": ("work",),
            "next_nodes": ("work",),
            "delta": delta,
            "state_hash": root,
            "state_bytes": self.digests.size,
            "schema_version": 1,
            "agent_version": work.agent_version,
            "created_by": work.owner,
            "digests": self.digests,
        }
        return NewCheckpoint(**(values | more))

    def step(
        self,
        delta: Mapping[str, Any] | None = None,
        *,
        events: Iterable[NewEvent] = (),
        leave_by: EventKind | None = None,
        **more: Any,
    ) -> UUID:
        """Commit one step that appends its number to `log`, or does what `delta` says."""
        if delta is None:
            delta = {"append": {"log": [self.work.number + 1]}}
        checkpoint = self.next_checkpoint(delta, **more)
        store.commit_step(self.work, checkpoint, events=list(events), leave_by=leave_by)
        return checkpoint.id

    def finish_rollback(self, *, run_on: bool = False) -> UUID:
        """What a worker commits once every effect is undone: the target's state as a new branch."""
        work, plan = self.work, self.work.rollback
        assert plan is not None
        target = UUID(plan["target"])
        state = materialized.materialise(work.thread, target).state
        digests = Digests.of(state, materialized.reducers_of(work.agent_version))
        next_nodes = deltas.decode(
            one(
                "SELECT next_nodes::text FROM gp_checkpoint "
                "WHERE thread_id = %s::uuid AND id = %s::uuid",
                (work.thread, target),
            )
        )
        checkpoint = self.next_checkpoint(
            {},
            step=plan["step"],
            branch=work.branch + 1,
            branch_start=work.number + 1,
            parent=target,
            parent_number=plan["number"],
            source="rollback",
            nodes=(),
            next_nodes=tuple(next_nodes),
            state_hash=digests.root,
            state_bytes=digests.size,
        )
        by = EventKind.ROLLBACK_RUN_ON if run_on else EventKind.ROLLBACK_FINISHED
        store.commit_step(work, checkpoint, leave_by=by)
        return checkpoint.id


def drive(thread: UUID, steps: int = 0) -> Driver:
    """Take the lease and commit `steps` steps."""
    driver = Driver(acquired(thread))
    for _ in range(steps):
        driver.step()
    return driver


def new_activity(
    work: Work, key: str, *, kind: str = "activity", undo: str = "", **more: Any
) -> NewActivity:
    """An activity at the step that `work` is about to do."""
    tool = key.partition("#")[0]
    values: dict[str, Any] = {
        "id": uuid7(),
        "position": Position(work.branch, work.step + 1, "work", 0, key),
        "kind": kind,
        "tool": tool,
        "args": {"to": key},
        "idempotency_key": f"{work.branch}:{work.step + 1}:{key}",
        "undo": undo,
    }
    return NewActivity(**(values | more))


def effect(work: Work, key: str, *, undo: str = "", state: str = "done") -> UUID:
    """An effect as far as `state` says: started, done, failed or unknown; its id."""
    activity = new_activity(work, key, kind="effect", undo=undo)
    store.start_activity(work, activity)
    if state != "started":
        error = "" if state == "done" else "no answer"
        store.finish_activity(work, activity, state=state, result={"sent": key}, error=error)
    return activity.id


def head_of(thread: UUID) -> UUID:
    """The thread's newest checkpoint."""
    row: UUID = one("SELECT head FROM gp_thread WHERE id = %s::uuid", (thread,))
    return row


def status_of(thread: UUID) -> Status:
    """Where the thread stands."""
    return Status(one("SELECT status FROM gp_thread WHERE id = %s::uuid", (thread,)))


def kinds_of(thread: UUID) -> list[str]:
    """The kinds of all its events, in order."""
    return [
        kind
        for (kind,) in rows(
            "SELECT kind FROM gp_event WHERE thread_id = %s::uuid ORDER BY seq", (thread,)
        )
    ]


def expire(thread: UUID) -> None:
    """Let the lease be over, as if its holder had fallen silent long ago."""
    rows(
        "UPDATE gp_thread SET lease_until = clock_timestamp() - interval '1 second' "
        "WHERE id = %s::uuid",
        (thread,),
    )


# How a thread gets into each status, by verbs only. Each answers the lease it had last, if any.
def _rolling_back(thread: UUID) -> Work:
    first = head_of(thread)
    driver = drive(thread, 1)
    store.roll_back(
        thread, checkpoint=first, undo=(), reason="test", actor=OPERATOR, head=driver.work.head
    )
    return driver.work


def _left(thread: UUID, by: EventKind, **more: Any) -> Work:
    work = acquired(thread)
    store.leave(work, by, **more)
    return work


def bring_to(thread: UUID, status: Status) -> Work | None:
    """Move a queued thread to `status`; the lease it had on the way."""
    match status:
        case Status.QUEUED:
            return None
        case Status.RUNNING:
            return acquired(thread)
        case Status.WAITING:
            return _left(thread, EventKind.THREAD_SUSPENDED, waiting_on={"gate": "publish"})
        case Status.SLEEPING:
            return _left(thread, EventKind.THREAD_SLEPT, wake_at_seconds=3600)
        case Status.PAUSED:
            return _left(thread, EventKind.THREAD_PAUSED)
        case Status.ATTENTION:
            return _left(thread, EventKind.THREAD_PARKED, reason="look")
        case Status.SUCCEEDED:
            return _left(thread, EventKind.THREAD_SUCCEEDED)
        case Status.FAILED:
            return _left(thread, EventKind.THREAD_FAILED, reason="broken")
        case Status.CANCELLED:
            store.cancel(thread, actor=OPERATOR)
            return None
        case Status.ROLLING_BACK:
            return _rolling_back(thread)

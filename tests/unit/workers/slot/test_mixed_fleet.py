"""Old and new code side by side: who takes a thread, who leaves it, and what people may choose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Annotated, Any
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from django.db import connection
from redis import Redis

from checkpoints import leases, queries, store
from checkpoints.chain import verify_thread
from checkpoints.errors import NotAllowedNow, StaleVersion
from checkpoints.records import Work
from checkpoints.states import EventKind, Status
from checkpoints.views import ThreadRow
from dashboard.threads.page.code_question import open_choices
from workers.authoring.graph import END, Append, Graph, State
from workers.broker.own_queue import own_queue
from workers.code import registry
from workers.engine.engine import Engine
from workers.engine.step_outcomes import refuse_missing
from workers.node.context import Context
from workers.slot import claims
from workers.step.ledger import DatabaseLedger
from workers.step.step import Agent

pytestmark = pytest.mark.django_db
OPERATOR = "user:1"


class Story(State):
    notes: Annotated[list[str], Append()] = []


def release(name: str, *, nodes: tuple[str, ...] = ("one", "two"), **more: Any) -> Agent:
    """The agent as one release of its author holds it; `name` is what its nodes write."""
    graph = Graph("story", Story, **more)

    def write(node: str) -> Any:
        def call(state: Story, ctx: Context) -> dict[str, Any]:
            return {"notes": [f"{node} by {name}"]}

        return call

    for node, then in zip(nodes, (*nodes[1:], END), strict=True):
        graph.node(name=node, then=then)(write(node))
    source = SimpleNamespace(__name__=f"story_{name}", __file__=None)
    return registry.announce(graph, {}, [source])  # type: ignore[list-item]


@dataclass
class Member:
    """A worker of the fleet: what it has, and whether it is announced."""

    agents: dict[str, Agent]
    id: str = field(default_factory=lambda: f"worker:here:{uuid4()}")
    queue: str = "gatepost"

    def __post_init__(self) -> None:
        versions = [agent.version_id for agent in self.agents.values()]
        store.announce_worker(
            self.id, host="here", pid=1, slots=1, queues=[self.queue], agents=versions
        )

    def take(self, thread: UUID) -> Work | None:
        return claims.take(thread, owner=self.id, agents=self.agents)

    def next(self) -> UUID | None:
        turn = leases.next_queued(self.queue, claims.code_of(self.agents))
        return None if turn is None else turn.thread

    def work(self, thread: UUID, *, steps: int = 99) -> ThreadRow:
        """Take it and go on until it stops, or hand it back after so many steps."""
        work = self.take(thread)
        assert work is not None, "it was left to somebody else"
        agent = self.agents.get(work.agent)
        if agent is None:
            refuse_missing(DatabaseLedger(), work)
        else:
            until = work.step + steps
            heartbeat: Any = SimpleNamespace(check=lambda: None)
            stop = lambda: work.step >= until  # noqa: E731
            Engine(agent, DatabaseLedger(), heartbeat, stop).advance(work)
        return row_of(thread)

    def retire(self) -> None:
        store.retire_worker(self.id)

    def rings(self) -> int:
        """Doorbells that were sent to it alone."""
        with Redis.from_url(settings.REDIS_URL) as valkey:
            return int(valkey.llen(own_queue(self.id).name))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    yield
    with Redis.from_url(settings.REDIS_URL) as valkey:
        for key in valkey.scan_iter("gatepost.canary.here:*"):
            valkey.delete(key)


@pytest.fixture
def workspace() -> UUID:
    return store.create_workspace(f"fleet {uuid4()}", actor="user:0")


def born(workspace: UUID, agent: Agent) -> UUID:
    return store.start(agent.version_id, input={}, workspace=workspace, actor=OPERATOR)


def row_of(thread: UUID) -> ThreadRow:
    workspace = rows("SELECT workspace_id FROM gp_thread WHERE id = %s", thread)[0][0]
    return queries.thread(thread, workspace=workspace)


def notes(thread: UUID) -> list[str]:
    results: list[str] = queries.state_at(thread, row_of(thread).head)["notes"]
    return results


def kinds(thread: UUID) -> list[str]:
    return [event.kind for event in queries.events_after(thread, 0)]


def rows(sql: str, *params: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall() if cursor.description else []


def expire(thread: UUID) -> None:
    rows(
        "UPDATE gp_thread SET lease_until = clock_timestamp() - interval '1 s' WHERE id = %s",
        thread,
    )


# ---- who takes it --------------------------------------------------------------------------------


def test_a_thread_is_left_to_the_worker_that_has_its_code(workspace: UUID) -> None:
    """Whichever is older: nobody parks or changes what another one can simply go on with."""
    old, new = Member({"story": release("old")}), Member({"story": release("new")})
    for own, other in ((old, new), (new, old)):
        thread = born(workspace, own.agents["story"])
        for n in range(1, 4):
            assert other.take(thread) is None
            assert (row_of(thread).fence, kinds(thread)) == (0, ["thread.started"])
            assert own.rings() == n, "the right one is told at its own entry point"
        assert other.next() is None, "it is not a reason to ring again and again"
        assert own.next() == thread
        assert own.work(thread).status is Status.SUCCEEDED
        assert EventKind.CODE_CHANGED not in kinds(thread)
        assert verify_thread(thread).intact


def test_an_expired_lease_is_left_as_well(workspace: UUID, settings: Any) -> None:
    settings.GATEPOST_LEASE_SECONDS = 0.001
    old, new = Member({"story": release("old")}), Member({"story": release("new")})
    thread = born(workspace, new.agents["story"])
    assert new.take(thread) is not None
    expire(thread)
    assert old.take(thread) is None
    assert (row_of(thread).crash_count, new.rings()) == (0, 1)
    taken = new.take(thread)
    assert taken is not None
    assert taken.crash_count == 1


def test_without_such_a_worker_the_rule_decides(workspace: UUID) -> None:
    old = Member({"story": release("old")})
    stops = Member({"story": release("stops")})
    goes_on = Member({"story": release("goes on", on_code_change="go_on")})
    first, second = born(workspace, old.agents["story"]), born(workspace, old.agents["story"])
    for thread in (first, second):
        old.work(thread, steps=1)
    old.retire()
    assert stops.next() == first
    assert stops.work(first).status is Status.ATTENTION
    assert notes(first) == ["one by old"]
    assert goes_on.work(second).status is Status.SUCCEEDED
    assert notes(second) == ["one by old", "two by goes on"]
    assert kinds(second).count(EventKind.CODE_CHANGED) == 1


def test_one_that_does_not_serve_the_queue_is_no_reason_to_wait(workspace: UUID) -> None:
    old = release("old")
    Member({"story": old}, queue="elsewhere")
    new = Member({"story": release("new", on_code_change="go_on")})
    thread = born(workspace, old)
    assert new.work(thread).status is Status.SUCCEEDED


def test_a_worker_without_the_agent_leaves_it_to_one_that_has_any_version(workspace: UUID) -> None:
    bare, new = Member({}), Member({"story": release("new")})
    thread = born(workspace, release("old"))
    assert bare.take(thread) is None
    assert bare.next() is None
    assert new.work(thread).status is Status.ATTENTION
    assert "changed" in row_of(thread).status_reason
    new.retire()
    store.retry(thread, actor=OPERATOR)
    assert bare.work(thread).status is Status.ATTENTION
    assert "No code for the agent" in row_of(thread).status_reason


# ---- what people choose --------------------------------------------------------------------------


def parked(workspace: UUID, old: Member, new: Member) -> UUID:
    """A thread that made a step with the old code, and met the new one."""
    thread = born(workspace, old.agents["story"])
    old.work(thread, steps=1)
    old.retire()
    row = new.work(thread)
    assert row.status is Status.ATTENTION
    assert open_choices(row) == ("pin", "accept", "fork")
    return thread


def accept(thread: UUID, agent: Agent, **more: Any) -> None:
    store.accept(
        thread,
        former=row_of(thread).agent_version_id,
        version=agent.version_id,
        fingerprint=agent.fingerprint,
        queue="gatepost",
        actor=OPERATOR,
        **more,
    )


def test_pinned_it_waits_for_its_own_code_however_long(workspace: UUID) -> None:
    old, new = Member({"story": release("old")}), Member({"story": release("new")})
    thread = parked(workspace, old, new)
    store.pin(thread, actor=OPERATOR)
    fence = row_of(thread).fence
    for _ in range(3):
        assert new.take(thread) is None
        assert new.next() is None
        assert store.stranded_threads(queued_for_seconds=0) == [], "ringing would help nobody"
    assert (row_of(thread).status, row_of(thread).fence) == (Status.QUEUED, fence)
    back = Member(old.agents)
    assert store.stranded_threads(queued_for_seconds=0) == [(thread, "gatepost")]
    assert new.take(thread) is None
    assert back.rings() == 1
    assert back.work(thread).status is Status.SUCCEEDED
    assert notes(thread) == ["one by old", "two by old"]
    assert kinds(thread).count(EventKind.CODE_PINNED) == 1
    assert EventKind.CODE_CHANGED not in kinds(thread)
    assert verify_thread(thread).intact


def test_a_pin_outlives_pauses_and_rules_until_it_is_taken_off(workspace: UUID) -> None:
    old = Member({"story": release("old")})
    new = Member({"story": release("new")})
    thread = parked(workspace, old, new)
    store.pin(thread, actor=OPERATOR)
    new.retire()
    eager = Member({"story": release("eager", on_code_change="go_on")})
    assert eager.take(thread) is None
    store.pause(thread, actor=OPERATOR)
    store.resume(thread, actor=OPERATOR)
    assert eager.take(thread) is None
    assert open_choices(row_of(thread)) == ("unpin",)
    store.unpin(thread, actor=OPERATOR)
    assert eager.work(thread).status is Status.SUCCEEDED
    assert notes(thread) == ["one by old", "two by eager"]
    with pytest.raises(NotAllowedNow):
        store.unpin(thread, actor=OPERATOR)


def test_accepting_takes_exactly_the_code_that_was_shown(workspace: UUID) -> None:
    old, new = Member({"story": release("old")}), Member({"story": release("new")})
    thread = parked(workspace, old, new)
    with pytest.raises(StaleVersion):
        accept(thread, new.agents["story"], expected_version=1)
    accept(thread, new.agents["story"])
    (changed,) = [e for e in queries.events_after(thread, 0) if e.kind == EventKind.CODE_CHANGED]
    assert (changed.actor, changed.data["to"]) == (OPERATOR, str(new.agents["story"].version_id))
    new.retire()
    newest = Member({"story": release("newest")})
    assert newest.work(thread).status is Status.ATTENTION, "nobody said yes to this one"
    assert notes(thread) == ["one by old"]
    accept(thread, newest.agents["story"])
    Member(old.agents)  # the former code is back; it was decided against
    assert newest.work(thread).status is Status.SUCCEEDED
    assert notes(thread) == ["one by old", "two by newest"]
    assert verify_thread(thread).intact


def test_pinned_the_choice_can_be_made_anew(workspace: UUID) -> None:
    old, new = Member({"story": release("old")}), Member({"story": release("new")})
    thread = parked(workspace, old, new)
    store.pin(thread, actor=OPERATOR)
    assert open_choices(row_of(thread)) == ("accept", "fork", "unpin")
    with pytest.raises(NotAllowedNow):
        store.pin(thread, actor=OPERATOR)
    accept(thread, new.agents["story"])
    assert not row_of(thread).pinned
    assert new.work(thread).status is Status.SUCCEEDED
    with pytest.raises(NotAllowedNow):
        accept(thread, new.agents["story"])


def test_a_fork_goes_on_with_the_new_code_and_leaves_the_base_alone(workspace: UUID) -> None:
    old, new = Member({"story": release("old")}), Member({"story": release("new")})
    base = parked(workspace, old, new)
    before = rows("SELECT x::text FROM gp_thread x WHERE id = %s", base)
    head = row_of(base).head
    fork = store.fork(
        base, checkpoint=head, changes={}, actor=OPERATOR, code=new.agents["story"].version_id
    )
    assert rows("SELECT x::text FROM gp_thread x WHERE id = %s", base) == before
    Member(old.agents)
    assert new.work(fork).status is Status.SUCCEEDED
    assert notes(fork) == ["one by old", "two by new"]
    assert queries.events_after(fork, 0)[0].data["agent_version"] == str(
        new.agents["story"].version_id
    )
    assert verify_thread(fork).intact
    assert verify_thread(base).intact


def test_retry_goes_on_with_the_former_code_where_it_is_back(workspace: UUID) -> None:
    old, new = Member({"story": release("old")}), Member({"story": release("new")})
    thread = parked(workspace, old, new)
    new.retire()
    back = Member(old.agents)
    store.retry(thread, actor=OPERATOR)
    work = back.take(thread)
    assert work is not None
    # What Retry leaves behind is in nobody's way.
    assert store.pause(thread, actor=OPERATOR) == "requested"
    store.hand_back(work, reason="")
    assert back.work(thread).status is Status.PAUSED
    store.resume(thread, actor=OPERATOR)
    assert back.work(thread).status is Status.SUCCEEDED
    assert notes(thread) == ["one by old", "two by old"]


# ---- code that cannot go on ----------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["stop", "go_on"])
def test_a_node_that_is_gone_is_noticed_before_the_code_is_taken_over(
    workspace: UUID, rule: str
) -> None:
    old = Member({"story": release("old")})
    new = Member({"story": release("new", nodes=("one", "second"), on_code_change=rule)})
    thread = born(workspace, old.agents["story"])
    old.work(thread, steps=1)
    old.retire()
    row = new.work(thread)
    assert row.status is Status.ATTENTION
    assert "has no node named two" in row.status_reason
    assert open_choices(row) == ("pin",)
    assert row.agent_version_id == old.agents["story"].version_id
    assert EventKind.CODE_CHANGED not in kinds(thread)
    back = Member(old.agents)
    store.retry(thread, actor=OPERATOR)
    assert back.work(thread).status is Status.SUCCEEDED
    assert notes(thread) == ["one by old", "two by old"]


def test_another_order_of_steps_works_no_step_twice_and_none_unasked(workspace: UUID) -> None:
    """Where it stood counts, not the number of the step."""
    old = Member({"story": release("old", nodes=("one", "two", "three"))})
    turned = Member({"story": release("turned", nodes=("three", "two", "one"))})
    thread = born(workspace, old.agents["story"])
    old.work(thread, steps=1)
    old.retire()
    assert turned.work(thread).status is Status.ATTENTION
    assert notes(thread) == ["one by old"]
    accept(thread, turned.agents["story"])
    assert turned.work(thread).status is Status.SUCCEEDED
    assert notes(thread) == ["one by old", "two by turned", "one by turned"]

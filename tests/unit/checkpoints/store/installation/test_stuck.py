"""Threads that are stuck are noticed by themselves: by rule, once, and no longer than they are."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from uuid_utils.compat import uuid7

from approvals import gates
from checkpoints import queries, store
from checkpoints.records import NewActivity, Position, Work
from checkpoints.states import EventKind
from checkpoints.store.installation import stuck
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one, rows
from tests.unit.dashboard import scene


def noted(cast: Cast) -> dict[UUID, tuple[str, str]]:
    """{thread: (rule, node)} of what a reader sees."""
    return {
        row.thread: (row.stuck.rule, row.stuck.node)
        for row in queries.stuck_threads(workspace=cast.workspace)
    }


def age(thread: UUID, seconds: float) -> None:
    """Move a thread's newest event and status into the past."""
    rows(
        "UPDATE gp_thread SET status_since = status_since - make_interval(secs => %s), "
        "last_at = last_at - make_interval(secs => %s) WHERE id = %s",
        (seconds, seconds, thread),
    )


def usual(cast: Cast, node: str, **values: Any) -> None:
    """What a node usually takes."""
    rows(
        "INSERT INTO gp_node_time (workspace_id, agent, node, n_steps, step_p95, n_waits, wait_p95)"
        " VALUES (%s, 'research', %s, %s, %s, %s, %s)",
        (
            cast.workspace,
            node,
            values.get("n_steps", 0),
            values.get("step"),
            values.get("n_waits", 0),
            values.get("wait"),
        ),
    )


def working(cast: Cast) -> Work:
    return scene.lease(scene.start(cast.workspace, scene.make_agent()))


def call(work: Work, key: str, args: Any, *, step: int = 1, index: int = 0) -> None:
    made = NewActivity(
        id=uuid7(),
        position=Position(work.branch, work.step + step, "analyse", index, key),
        kind="activity",
        tool="search",
        args=args,
        idempotency_key=uuid4().hex,
    )
    store.start_activity(work, made)
    store.finish_activity(work, made, state="done", result={"n": 0})


@pytest.mark.requirement("B26")
def test_a_silent_step_is_measured_against_what_its_node_usually_takes(cast: Cast) -> None:
    quick, slow, unknown = working(cast), working(cast), working(cast)
    scene.step(slow)  # its next node is publish
    usual(cast, "analyse", n_steps=stuck.STEPS_ENOUGH, step=2.0)
    usual(cast, "publish", n_steps=stuck.STEPS_ENOUGH, step=200.0)
    for work in (quick, slow):
        age(work.thread, 100)
    assert store.note_stuck() == 1
    assert noted(cast) == {quick.thread: ("silent", "analyse")}
    [row] = queries.stuck_threads(workspace=cast.workspace)
    assert row.stuck.reason == ("Its worker has recorded nothing; analyse usually takes up to 2 s.")
    assert row.stuck.action
    age(slow.thread, 1_400)
    rows("UPDATE gp_thread SET next_nodes = '[\"other\"]' WHERE id = %s", (unknown.thread,))
    age(unknown.thread, 800)
    store.note_stuck()
    assert unknown.thread not in noted(cast), "a node without history has 15 minutes"
    assert slow.thread not in noted(cast), "8 times 200 seconds have not passed"
    age(slow.thread, 200)
    age(unknown.thread, 200)
    store.note_stuck()
    assert set(noted(cast)) == {quick.thread, slow.thread, unknown.thread}


def test_young_agents_raise_no_alarm(cast: Cast) -> None:
    work = working(cast)
    usual(cast, "analyse", n_steps=stuck.STEPS_ENOUGH - 1, step=0.01)
    age(work.thread, 300)
    assert store.note_stuck() == 0
    rows("UPDATE gp_node_time SET n_steps = n_steps + 1")
    age(work.thread, -250)
    assert store.note_stuck() == 0, "not before the floor, however quick its steps are"


def test_a_note_ends_with_the_next_event(cast: Cast) -> None:
    work = working(cast)
    age(work.thread, 1_000)
    assert store.note_stuck() == 1
    assert store.note_stuck() == 0
    assert queries.thread(work.thread, workspace=cast.workspace).stuck is not None
    store.record(work, [store.NewEvent(EventKind.THOUGHT_RECORDED, {"text": "on"}, work.owner)])
    assert noted(cast) == {}
    assert queries.thread(work.thread, workspace=cast.workspace).stuck is None
    store.note_stuck()
    assert one("SELECT count(*) FROM gp_stuck") == 0


def test_no_heartbeat_and_no_worker(cast: Cast) -> None:
    lost, queued = working(cast), scene.start(cast.workspace, scene.make_agent())
    rows(
        "UPDATE gp_thread SET lease_until = clock_timestamp() - interval '2 minutes' WHERE id = %s",
        (lost.thread,),
    )
    age(lost.thread, 130)
    age(queued, 1_000)
    store.note_stuck()
    assert noted(cast) == {lost.thread: ("lease", "analyse"), queued: ("queue", "analyse")}


def test_a_crash_loop_is_stuck_at_once(cast: Cast) -> None:
    work = working(cast)
    reason = "The worker was lost 3 times in a row at this step."
    store.leave(work, EventKind.THREAD_PARKED, reason=reason)
    [row] = queries.stuck_threads(workspace=cast.workspace)
    assert (row.stuck.rule, row.stuck.node, row.stuck.reason) == ("attention", "analyse", reason)


def test_the_same_call_again_and_again(cast: Cast) -> None:
    loop, busy, wide = working(cast), working(cast), working(cast)
    for n in range(stuck.CALLS):
        call(loop, f"search:{n}", {"q": "tea"})
        call(busy, f"search:{n}", {"q": f"tea {n}"})
        call(wide, "search:0", {"q": "tea"}, index=n)
    store.note_stuck()
    assert noted(cast) == {loop.thread: ("repeats", "analyse")}
    row = queries.thread(loop.thread, workspace=cast.workspace)
    assert row.stuck is not None
    assert row.stuck.reason == "search was called 5 times or more with the same arguments."
    call(loop, "search:9", {"q": "tea"})
    assert noted(cast), "it moves, and is stuck all the same"
    assert store.note_stuck() == 0
    rows("UPDATE gp_activity SET args = jsonb_build_object('q', id)")
    store.note_stuck()
    rows("UPDATE gp_stuck SET noted_at = noted_at - interval '1 hour'")
    store.note_stuck()
    assert noted(cast) == {}


def test_waiting_for_a_person_beyond_what_is_usual(cast: Cast) -> None:
    agent = scene.make_agent()
    gate = scene.waiting(cast.workspace, agent)
    other = scene.waiting(cast.workspace, agent)
    node = queries.thread(gate.thread, workspace=cast.workspace).next_nodes[0]
    for thread in (gate.thread, other.thread):
        age(thread, 4_000)
    store.note_stuck()
    assert noted(cast) == {}, "a day where nobody knows better"
    usual(cast, node, n_waits=stuck.WAITS_ENOUGH, wait=600.0)
    age(other.thread, -3_000)
    store.note_stuck()
    assert noted(cast) == {gate.thread: ("person", node)}, "an hour at least"


def test_the_walk_over_the_waiting_comes_to_each(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stuck, "WAITING_BATCH", 2)
    agent = scene.make_agent()
    threads = {scene.waiting(cast.workspace, agent).thread for _ in range(5)}
    for thread in threads:
        age(thread, 90_000)
    turns = store.StuckTurns()
    assert [store.note_stuck(turns) for _ in range(4)] == [2, 2, 1, 0]
    assert set(noted(cast)) == threads


@pytest.mark.requirement("B26")
def test_usual_times_are_learned_from_the_log(cast: Cast) -> None:
    agent = scene.make_agent()
    for _ in range(4):
        work = scene.lease(scene.start(cast.workspace, agent))
        for _ in range(5):
            scene.step(work)
        store.leave(work, EventKind.THREAD_SUCCEEDED)
    assert store.learn_node_times("research") == 1
    [(node, n, p50, p95)] = rows("SELECT node, n_steps, step_p50, step_p95 FROM gp_node_time")
    assert (node, n) == ("analyse", 20)
    assert 0 < p50 <= p95 < 30
    work = working(cast)
    age(work.thread, 100)
    store.note_stuck()
    assert noted(cast) == {work.thread: ("silent", "analyse")}
    assert store.learn_node_times("nobody") == 0


def _took(thread: UUID, kind: EventKind, seconds: float) -> None:
    """Let the newest event of a kind lie so much later."""
    rows("SET session_replication_role = replica")
    rows(
        "UPDATE gp_event SET at = at + make_interval(secs => %s) WHERE thread_id = %s "
        "AND kind = %s",
        (seconds, thread, kind),
    )
    rows("SET session_replication_role = DEFAULT")


def test_one_that_hung_for_hours_does_not_make_hours_usual(cast: Cast) -> None:
    agent = scene.make_agent()
    for seconds in (*[1.0] * (stuck.STEPS_ENOUGH - 1), 36_000.0):
        work = scene.lease(scene.start(cast.workspace, agent))
        scene.step(work)
        store.leave(work, EventKind.THREAD_SUCCEEDED)
        _took(work.thread, EventKind.CHECKPOINT_COMMITTED, seconds)
    for seconds in (*[600.0] * (stuck.WAITS_ENOUGH - 1), 30 * 86_400.0):
        row = scene.waiting(cast.workspace, agent)
        gates.decide(
            row.id,
            workspace=cast.workspace,
            reviewer=gates.Reviewer(cast.actor("manager").id, "manager"),
            verdict="approve",
            proposal_hash=row.proposal_hash,
        )
        _took(row.thread, EventKind.APPROVAL_DECIDED, seconds)
    store.learn_node_times("research")
    usual_times = rows("SELECT node, n_steps, step_p95, n_waits, wait_p95 FROM gp_node_time")
    by_node = {node: (step, wait) for node, _, step, _, wait in usual_times}
    assert by_node["analyse"][0] == pytest.approx(1, abs=1)
    assert by_node["publish"][1] == pytest.approx(600, abs=5)
    silent, late = working(cast), scene.waiting(cast.workspace, agent)
    age(silent.thread, 120)
    age(late.thread, 4_000)
    store.note_stuck()
    assert noted(cast) == {silent.thread: ("silent", "analyse"), late.thread: ("person", "publish")}


def test_of_several_nodes_the_one_with_the_open_request_waits(cast: Cast) -> None:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    scene.step(work, next_nodes=("analyse", "publish"))
    row = scene.gate(work)
    usual(cast, "publish", n_waits=stuck.WAITS_ENOUGH, wait=600.0)
    age(row.thread, 4_000)
    store.note_stuck()
    assert noted(cast) == {row.thread: ("person", "publish")}
    counts = queries.stuck_counts(workspace=cast.workspace, node="publish")
    assert (counts.total, counts.groups[0].node) == (1, "publish")


def test_who_pauses_or_ends_is_stuck_no_longer(cast: Cast) -> None:
    paused, ended, repeats = working(cast), working(cast), working(cast)
    for n in range(stuck.CALLS):
        call(repeats, f"search:{n}", {"q": "tea"})
    for work in (paused, ended):
        age(work.thread, 1_000)
    store.note_stuck()
    assert set(noted(cast)) == {paused.thread, ended.thread, repeats.thread}
    store.leave(paused, EventKind.THREAD_PAUSED, reason="by hand")
    store.leave(ended, EventKind.THREAD_SUCCEEDED)
    store.leave(repeats, EventKind.THREAD_PAUSED, reason="by hand")
    assert noted(cast) == {}
    store.note_stuck()
    assert (noted(cast), one("SELECT count(*) FROM gp_stuck")) == ({}, 0)


def test_turns_come_to_each_agent_and_rest(cast: Cast) -> None:
    scene.make_agent("b")
    scene.make_agent("a")
    turns = store.StuckTurns()
    assert [turns.next_agent() for _ in range(3)] == ["a", "b", ""]
    assert [turns.look_due() for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.01, "1 s"), (59.2, "60 s"), (121, "3 min"), (7_200, "2 h"), (200_000, "3 d")],
)
def test_durations_are_rounded_up(seconds: float, words: str) -> None:
    assert stuck.duration(seconds) == words

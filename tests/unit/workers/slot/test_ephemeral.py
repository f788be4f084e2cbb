"""Ephemeral threads: turns in memory, a row and the begin and end of each; nothing else is kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from approvals.policies import caps
from approvals.policies import changes as policies
from checkpoints import leases, store
from checkpoints.chain import verify_thread
from checkpoints.durabilities import FORGOTTEN, SEND_AGAIN
from checkpoints.ephemeral import copies
from checkpoints.states import Status
from checkpoints.views import ThreadRow
from tests.unit.workers.graphs import ephemeral
from tests.unit.workers.node.test_policies_hold import policy
from workers.slot import loop
from workers.slot.claims import take
from workers.step.ephemeral_ledger import EphemeralLedger

pytestmark = [pytest.mark.requirement("A14"), pytest.mark.requirement("E07")]
S = Status


class Chats:
    """Chats of the ephemeral sample agent, each turn worked by the slot's own loop."""

    def __init__(self, bench: Any) -> None:
        self.bench = bench
        self.agents = {bench.agent.graph.name: bench.agent}

    def start(self, text: str = "hello", **more: Any) -> UUID:
        thread: UUID = self.bench.start(messages=[_message(text)], **more)
        return thread

    def send(self, thread: UUID, text: str) -> None:
        copies.send(thread, queue="gatepost", message=_message(text), actor="user:2", ttl=60)

    def turn(self, thread: UUID, owner: str = "worker:test") -> ThreadRow:
        work = take(thread, owner=owner, agents=self.agents)
        if work is not None:
            loop.work_on(work)
        row: ThreadRow = self.bench.row(thread)
        return row

    def send_and_work(self, thread: UUID, text: str) -> ThreadRow:
        self.send(thread, text)
        return self.turn(thread)

    def state(self, thread: UUID) -> dict[str, Any]:
        copy = copies.load(thread)
        assert copy is not None
        return copy.state


@pytest.fixture
def chats(
    make_bench: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch, settings: Any
) -> Chats:
    # The heartbeat, with a connection of its own, sees no lease of a test's open transaction: its
    # first beat, after a third of the lease, would end a turn that a busy machine makes long.
    settings.GATEPOST_LEASE_SECONDS = 600.0
    ephemeral.calls.clear()
    ephemeral.busy.clear()
    result = Chats(make_bench(ephemeral))
    monkeypatch.setattr(loop, "agents", lambda: result.agents)
    return result


def _message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def rows_of(thread: UUID) -> dict[str, int]:
    """How many rows each table of history has of a thread."""
    tables = ("gp_checkpoint", "gp_keyframe", "gp_activity", "gp_content", "gp_event", "gp_wake")
    counts = {}
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"SELECT count(*) FROM {table} WHERE thread_id = %s", (thread,))
            counts[table] = cursor.fetchone()[0]
    return {table: n for table, n in counts.items() if n}


def test_a_chat_keeps_a_row_and_two_events_a_turn(chats: Chats) -> None:
    thread = chats.start()
    row = chats.turn(thread)
    assert (row.status, row.n_steps, row.tokens, row.cost) == (S.SUCCEEDED, 1, 10, "0.01")
    assert rows_of(thread) == {"gp_event": 3}
    row = chats.send_and_work(thread, "more")
    row = chats.send_and_work(thread, "enough")
    assert (row.status, row.n_steps, row.tokens, row.cost) == (S.SUCCEEDED, 3, 30, "0.03")
    kinds = chats.bench.kinds(thread)
    turn = ["thread.continued", "thread.succeeded"]
    assert kinds == ["thread.started", "lease.acquired", "thread.succeeded", *turn, *turn]
    assert rows_of(thread) == {"gp_event": 7}
    contents = [m["content"] for m in chats.state(thread)["messages"]]
    expected = ["hello", "You said hello", "more", "You said more", "enough", "You said enough"]
    assert contents == expected
    # Nothing of what was said is in the record, and the record is whole.
    assert "hello" not in str([e.data for e in chats.bench.events(thread)])
    assert chats.bench.events(thread)[-1].data["by"] == "user:2"
    report = verify_thread(thread)
    assert (report.intact, report.what) == (True, "")


def test_damage_of_its_totals_is_found(chats: Chats) -> None:
    thread = chats.start()
    chats.turn(thread)
    for column in ("tokens", "n_steps"):
        with connection.cursor() as cursor:
            cursor.execute(f"UPDATE gp_thread SET {column} = {column} + 1 WHERE id = %s", (thread,))
        assert not verify_thread(thread).intact
        with connection.cursor() as cursor:
            cursor.execute(f"UPDATE gp_thread SET {column} = {column} - 1 WHERE id = %s", (thread,))
    assert verify_thread(thread).intact


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("sleep", "can't sleep"),
        ("wait", "can't wait"),
        ("effect", "can't change anything outside"),
        ("file", "can't keep a file"),
        ("fail", "on demand"),
    ],
)
def test_what_needs_a_record_ends_the_turn_with_the_reason(
    chats: Chats, text: str, reason: str
) -> None:
    thread = chats.start()
    chats.turn(thread)
    before = chats.state(thread)
    row = chats.send_and_work(thread, text)
    assert row.status is S.FAILED
    assert reason in row.status_reason
    # The state is what it was before the turn, and the next message finds it.
    assert chats.state(thread) == before
    assert chats.send_and_work(thread, "again").status is S.SUCCEEDED
    contents = [m["content"] for m in chats.state(thread)["messages"]]
    assert contents == ["hello", "You said hello", "again", "You said again"]
    assert rows_of(thread) == {"gp_event": 7}
    assert verify_thread(thread).intact


def test_a_call_that_a_policy_holds_is_refused(chats: Chats) -> None:
    thread = chats.start()
    chats.turn(thread)
    policy(chats.bench, 'tool == "look_up"', name="look-up")
    row = chats.send_and_work(thread, "look here")
    assert row.status is S.FAILED
    assert "“look-up”" in row.status_reason
    assert "look up look here" not in ephemeral.calls


def test_a_worker_lost_in_a_turn_fails_it_and_nothing_is_called_again(
    chats: Chats, settings: Any
) -> None:
    thread = chats.start()
    chats.turn(thread)
    before, called = chats.state(thread), len(ephemeral.calls)
    chats.send(thread, "lost")
    settings.GATEPOST_LEASE_SECONDS = 0.01
    lost = take(thread, owner="worker:lost", agents=chats.agents)
    assert lost is not None
    # It took the message and wrote its state, and was killed before the end was committed.
    ledger = EphemeralLedger(chats.bench.agent.graph)
    ledger.load(lost, lost.agent_version, chats.bench.agent.graph.reducers)
    ledger.events(lost, [], taken=[1])
    more = {"append": {"messages": [_message("lost")]}, "set": {"answers": 9}}
    ledger._begun().folder.add(more)
    lost.next_nodes = ()
    ledger._save(lost)
    assert chats.state(thread)["answers"] == 9
    time.sleep(0.02)
    row = chats.turn(thread, owner="worker:next")
    settings.GATEPOST_LEASE_SECONDS = 15
    assert (row.status, row.crash_count) == (S.FAILED, 0)
    assert row.status_reason.endswith(SEND_AGAIN)
    assert chats.state(thread) == before
    assert len(ephemeral.calls) == called
    assert chats.send_and_work(thread, "again").status is S.SUCCEEDED
    assert verify_thread(thread).intact


def test_pause_and_cancel_reach_it(chats: Chats) -> None:
    thread = chats.start()
    store.pause(thread, actor="user:1")
    assert chats.turn(thread).status is S.PAUSED
    store.resume(thread, actor="user:1")
    assert chats.turn(thread).status is S.SUCCEEDED
    other = chats.start()
    work = leases.acquire(other, owner="worker:1")
    assert work is not None
    store.cancel(other, actor="user:1")
    loop.work_on(work)
    assert chats.bench.row(other).status is S.CANCELLED
    chats.send(other, "more")
    assert chats.turn(other).status is S.CANCELLED
    assert verify_thread(thread).intact
    assert verify_thread(other).intact


def test_without_its_state_a_turn_fails_and_says_so(chats: Chats) -> None:
    thread = chats.start()
    chats.turn(thread)
    chats.send(thread, "more")
    with copies._valkey() as valkey:
        valkey.delete(copies._key(thread))
    row = chats.turn(thread)
    assert (row.status, row.status_reason) == (S.FAILED, FORGOTTEN)
    assert copies.load(thread) is None


def test_a_copy_ends_by_itself(chats: Chats) -> None:
    thread = chats.start()
    with copies._valkey() as valkey:
        names = list(valkey.scan_iter(f"{copies.PREFIX}:{thread}*"))
        assert names
        assert all(0 < valkey.ttl(name) <= 60 for name in names)


def test_the_sweep_finds_messages_that_nobody_took(chats: Chats) -> None:
    thread = chats.start()
    chats.turn(thread)
    chats.send(thread, "more")
    assert (thread, "gatepost") in copies.waiting(older_than_seconds=-1)
    chats.turn(thread)
    assert (thread, "gatepost") not in copies.waiting(older_than_seconds=-1)


def test_the_cap_of_a_day_counts_turns(chats: Chats) -> None:
    thread = chats.start()
    chats.turn(thread)
    chats.send_and_work(thread, "more")
    params = {"workspace": chats.bench.workspace, "thread": thread, "agent": "chat"}
    for scope in ("thread", "agent", "workspace"):
        for per in ("day", "total"):
            cap: Any = SimpleNamespace(scope=scope, per=per)
            assert caps.spent_of(cap, params) == Decimal("0.02"), (scope, per)


def test_a_cap_ends_the_turn_before_it_is_passed(chats: Chats, settings: Any) -> None:
    settings.GATEPOST_CALL_RESERVE = "0.01"
    workspace = chats.bench.workspace
    policies.set_cap(workspace, scope="agent", per="day", max_cost="0.03", actor="user:9")
    thread = chats.start()
    assert chats.turn(thread).status is S.SUCCEEDED
    # One call fits beside what is on record, and the second of this turn counts the first.
    row = chats.send_and_work(thread, "twice")
    assert row.status is S.SUCCEEDED
    row = chats.send_and_work(thread, "more")
    assert row.status is S.FAILED
    assert "spend cap" in row.status_reason
    assert row.status_reason.endswith(SEND_AGAIN)
    assert row.cost == "0.03"


def test_a_cap_ends_a_turn_of_many_calls(chats: Chats, settings: Any) -> None:
    settings.GATEPOST_CALL_RESERVE = "0.01"
    workspace = chats.bench.workspace
    policies.set_cap(workspace, scope="thread", per="total", max_cost="0.03", actor="user:9")
    thread = chats.start()
    chats.turn(thread)
    row = chats.send_and_work(thread, "many calls")
    # Two of its calls fit beside the one on record; the third would pass the cap.
    assert (row.status, row.cost, len(ephemeral.calls)) == (S.FAILED, "0.03", 3)
    assert "spend cap" in row.status_reason
    assert verify_thread(thread).intact


def test_a_breaker_keeps_messages_waiting(chats: Chats) -> None:
    thread = chats.start()
    chats.turn(thread)
    workspace = chats.bench.workspace
    breaker = store.trip_breaker(workspace, {}, reason="look first", actor="user:1").id
    chats.send(thread, "more")
    assert chats.turn(thread).status is S.SUCCEEDED
    assert copies.count_messages(thread) == 1
    store.release_breaker(breaker, workspace=workspace, actor="user:1", reason="seen")
    chats.turn(thread)
    assert copies.count_messages(thread) == 0
    assert chats.state(thread)["answers"] == 2


def test_a_slice_that_is_over_continues_elsewhere_without_a_second_call(
    chats: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = chats.start("long")
    monkeypatch.setattr(loop, "slice_seconds", lambda: 0.0)
    row = chats.turn(thread)
    assert row.status is S.QUEUED
    called = len(ephemeral.calls)
    monkeypatch.undo()
    monkeypatch.setattr(loop, "agents", lambda: chats.agents)
    row = chats.turn(thread)
    assert (row.status, row.n_steps) == (S.SUCCEEDED, 2)
    assert len(ephemeral.calls) == called
    assert verify_thread(thread).intact


# ---- a model that is busy ------------------------------------------------------------------------


def test_a_model_that_is_busy_for_a_moment_is_called_again_in_the_same_turn(chats: Chats) -> None:
    ephemeral.busy[:] = [0.2, 0.2]
    began = time.monotonic()
    thread = chats.start()
    row = chats.turn(thread)
    assert time.monotonic() - began >= 0.4
    assert (row.status, row.tokens) == (S.SUCCEEDED, 10)
    assert ephemeral.calls == ["hello"] * 3
    assert chats.bench.kinds(thread) == ["thread.started", "lease.acquired", "thread.succeeded"]


def pass_time(seconds: float) -> None:
    """Let all that is slept and waited for be so much nearer."""
    for table, column in (("gp_thread", "wake_at"), ("gp_backoff", "until")):
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {table} SET {column} = {column} - make_interval(secs => %s)", (seconds,)
            )
    store.wake_sleepers(owner="worker:1")


def test_a_model_that_is_busy_for_longer_holds_no_worker(chats: Chats) -> None:
    thread = chats.start()
    chats.turn(thread)
    ephemeral.busy[:] = [20.0]
    row = chats.send_and_work(thread, "more")
    assert row.status is S.SLEEPING
    # Whoever had waited would have called again, and been answered.
    assert ephemeral.calls == ["hello", "more"]
    assert "asked" in row.status_reason or "Too many requests" in row.status_reason
    # Nobody takes it before its time; a message that comes meanwhile waits.
    assert chats.turn(thread).status is S.SLEEPING
    pass_time(21)
    row = chats.turn(thread)
    assert (row.status, row.tokens) == (S.SUCCEEDED, 20)
    assert ephemeral.calls == ["hello", "more", "more"]
    contents = [m["content"] for m in chats.state(thread)["messages"]]
    assert contents == ["hello", "You said hello", "more", "You said more"]
    assert chats.bench.events(thread)[-1].data["by"] == "user:2"
    assert chats.bench.kinds(thread)[3:] == [
        "thread.continued",
        "thread.slept",
        "thread.woken",
        "lease.acquired",
        "thread.succeeded",
    ]
    assert verify_thread(thread).intact


def test_a_first_turn_sleeps_as_well(chats: Chats) -> None:
    ephemeral.busy[:] = [20.0]
    thread = chats.start()
    assert chats.turn(thread).status is S.SLEEPING
    pass_time(21)
    assert chats.turn(thread).status is S.SUCCEEDED
    assert verify_thread(thread).intact


def test_a_model_that_is_busy_for_too_long_ends_the_turn(chats: Chats) -> None:
    thread = chats.start()
    chats.turn(thread)
    before = chats.state(thread)
    ephemeral.busy[:] = [300.0]
    row = chats.send_and_work(thread, "more")
    assert row.status is S.FAILED
    assert "can be called again in 300 s" in row.status_reason
    assert row.status_reason.endswith(SEND_AGAIN)
    assert chats.state(thread) == before


def test_a_step_that_has_called_sleeps_not_since_nothing_is_called_twice(chats: Chats) -> None:
    thread = chats.start()
    chats.turn(thread)
    ephemeral.busy[:] = [0.0, 20.0]
    row = chats.send_and_work(thread, "twice")
    assert row.status is S.FAILED
    assert "can be called again in 20 s" in row.status_reason
    assert ephemeral.calls == ["hello", "twice", "twice"]
    # What it called before is on the bill.
    assert row.tokens == 20


def test_attempts_count_across_sleeps(chats: Chats) -> None:
    ephemeral.busy[:] = [10.0] * 9
    thread = chats.start()
    for _ in range(9):
        row = chats.turn(thread)
        if row.status is S.FAILED:
            break
        assert row.status is S.SLEEPING
        pass_time(11)
    assert row.status is S.FAILED
    assert len(ephemeral.calls) == 5  # as the agent's policy says
    assert "after 5 attempts" in row.status_reason
    ephemeral.busy.clear()
    assert chats.send_and_work(thread, "again").status is S.SUCCEEDED


def test_a_message_has_the_time_of_the_server_that_keeps_it(
    chats: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = chats.start()
    chats.turn(thread)
    with copies._valkey() as valkey:
        before = copies._seconds(valkey.time())
    with monkeypatch.context() as wrong:
        wrong.setattr(time, "time", lambda: 1_000.0)  # the web host's clock
        chats.send(thread, "more")
    [message] = copies.messages(thread)
    assert before <= message.at <= before + 30
    assert (thread, "gatepost") in copies.waiting(older_than_seconds=-1)
    assert (thread, "gatepost") not in copies.waiting(older_than_seconds=600)

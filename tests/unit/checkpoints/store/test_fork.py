"""Forks: a past that is shared and never touched, and a future of one's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from benchmarks.servers import without_autovacuum
from checkpoints import queries, store
from checkpoints.chain import verify_thread
from checkpoints.errors import InvalidValue, NotFound
from checkpoints.queries.states import materialized
from checkpoints.state import deltas
from checkpoints.state.channels import Digests
from checkpoints.states import EventKind, Status
from tests.unit.checkpoints.builders import (
    CHANNELS,
    OPERATOR,
    Driver,
    acquired,
    drive,
    head_of,
    make_agent,
    make_thread,
    make_workspace,
    one,
    rows,
)

TABLES = ("gp_thread", "gp_checkpoint", "gp_event", "gp_activity", "gp_keyframe", "gp_wake")


def rows_of(thread: UUID) -> dict[str, str]:
    """A fingerprint per table of all that belongs to a thread."""
    return {
        table: one(
            f"SELECT md5(string_agg(x::text, '|' ORDER BY x::text)) FROM {table} x "
            f"WHERE {'id' if table == 'gp_thread' else 'thread_id'} = %s::uuid",
            (thread,),
        )
        for table in TABLES
    }


def count_all() -> dict[str, int]:
    return {table: one(f"SELECT count(*) FROM {table}") for table in TABLES}


def numbered(thread: UUID, number: int) -> UUID:
    return queries.checkpoint_by_number(thread, number).id


@pytest.mark.slow
@pytest.mark.requirement("C11")
@pytest.mark.requirement("C15")
def test_a_fork_at_step_900_of_1000_writes_three_rows_and_leaves_the_base_alone(
    real_db: str,
) -> None:
    base = make_thread()
    driver = drive(base, 1_000)
    store.write_keyframe(base, 500, materialized.materialise(base, numbered(base, 500)).state)
    driver.step(leave_by=EventKind.THREAD_SUCCEEDED)
    before, counted = rows_of(base), count_all()
    upper = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
    target = numbered(base, 900)
    # The server counts for all: an analysis by autovacuum takes a transaction id as well.
    with without_autovacuum(connection.connection):
        xids = one(upper)
        fork = store.fork(base, checkpoint=target, changes={"goal": "other"}, actor="user:5")
        assert one(upper) - xids == 1
    written = {table: n - counted[table] for table, n in count_all().items()}
    assert written == {
        "gp_thread": 1, "gp_checkpoint": 1, "gp_event": 1, "gp_activity": 0, "gp_keyframe": 0,
        "gp_wake": 0,
    }  # fmt: skip
    assert one("SELECT pg_column_size(c.*) FROM gp_checkpoint c ORDER BY created_at DESC") < 1_024
    work = Driver(acquired(fork))
    assert work.state["log"] == list(range(1, 901))
    assert work.state["goal"] == "other"
    assert work.work.step == 900
    for _ in range(50):
        work.step()
    work.step(leave_by=EventKind.THREAD_SUCCEEDED)
    assert rows_of(base) == before
    assert verify_thread(base).intact
    assert verify_thread(fork).intact
    # Any step of the past can be asked for, before and after.
    for number in (0, 1, 499, 500, 501, 900, 1_001):
        result = queries.state_at(base, numbered(base, number))
        assert (result["goal"], result["log"]) == ("count", list(range(1, number + 1)))


@pytest.mark.django_db
def test_a_birth_is_one_statement(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    """A start reads its agent's version, a fork its base; then one round trip, no savepoint."""
    workspace, agent = make_workspace(), make_agent()
    with django_assert_num_queries(2):
        base = make_thread(workspace=workspace, agent=agent)
    head = head_of(base)
    with django_assert_num_queries(2):
        store.fork(base, checkpoint=head, changes={}, actor=OPERATOR)


@pytest.mark.django_db
@pytest.mark.requirement("C16")
def test_a_fork_injects_a_correction_and_goes_the_way_again() -> None:
    workspace = make_workspace()
    base = make_thread(workspace=workspace, title="Count", labels={"team": "blue"})
    driver = drive(base, 3)
    target = numbered(base, 2)
    fork = store.fork(
        base, checkpoint=target, changes={"total": 100, "facts": {"a": 1}}, actor="user:5",
        title="Count again", effects="run", reason="wrong total",
    )  # fmt: skip
    row = queries.thread(fork, workspace=workspace)
    assert (row.status, row.title, row.labels) == (Status.QUEUED, "Count again", {"team": "blue"})
    assert (row.base, row.forked_from, row.started_by) == (base, target, "user:5")
    assert (row.step, row.number, row.branch, row.effects, row.name) == (2, 0, 0, "run", None)
    assert row.next_nodes == ("work",)
    [own] = queries.checkpoints(fork).rows
    assert (own.source, own.parent, own.parent_thread, own.parent_number) == (
        "fork", target, base, 2,
    )  # fmt: skip
    [event] = queries.events_after(fork, 0)
    assert event.kind == "thread.forked"
    assert event.data["changed"] == ["facts", "total"]
    assert event.data["reason"] == "wrong total"
    seq, digest = rows(
        "SELECT last_seq, encode(last_hash, 'hex') FROM gp_thread WHERE id = %s::uuid", (base,)
    )[0]
    assert (event.data["base_seq"], event.data["base_hash"]) == (seq, digest)
    again = Driver(acquired(fork))
    again.step({"append": {"log": ["again"]}, "set": {"total": again.state["total"] + 1}})
    assert again.state == {"goal": "count", "log": [1, 2, "again"], "facts": {"a": 1}, "total": 101}
    assert queries.state_at(fork, head_of(fork)) == again.state
    assert driver.state["log"] == [1, 2, 3]
    assert [child.id for child in queries.forks_of(base)] == [fork]
    assert queries.forks_of(fork) == []
    # The idempotency keys of a fork are its own.
    assert one("SELECT count(DISTINCT chain_id) FROM gp_thread") == 2


@pytest.mark.django_db
def test_a_fork_never_sees_what_its_base_does_later() -> None:
    base = make_thread()
    driver = drive(base, 3)
    fork = store.fork(base, checkpoint=head_of(base), changes={}, actor=OPERATOR)
    nested = store.fork(fork, checkpoint=head_of(fork), changes={"total": 1}, actor=OPERATOR)
    expected = dict(driver.state)
    for _ in range(3):
        driver.step()
    store.write_keyframe(base, 6, driver.state)
    driver.step(leave_by=EventKind.THREAD_PAUSED)
    store.edit(base, changes={"log": ["rewritten"]}, reason="", actor=OPERATOR)
    store.roll_back(
        base, checkpoint=numbered(base, 1), undo=(), reason="", actor=OPERATOR, head=head_of(base)
    )
    drive(base).finish_rollback(run_on=True)
    drive(base, 2)
    expected["log"] = [1, 2, 3]
    assert queries.state_at(fork, head_of(fork)) == expected
    assert queries.state_at(nested, head_of(nested)) == expected | {"total": 1}
    assert drive(fork, 1).state["log"] == [1, 2, 3, 1]
    assert verify_thread(fork).intact
    assert verify_thread(nested).intact


@pytest.mark.django_db
def test_a_fork_of_a_fork_shares_the_whole_past(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    thread, log = make_thread(), []
    for generation in range(12):
        driver = drive(thread)
        for number in range(3):
            driver.step({"append": {"log": [f"{generation}.{number}"]}})
        log += [f"{generation}.0", f"{generation}.1"]
        thread = store.fork(
            thread, checkpoint=numbered(thread, 2), changes={"total": generation}, actor=OPERATOR
        )
    head = head_of(thread)
    with django_assert_num_queries(1):
        state = queries.state_at(thread, head)
    assert state == {"goal": "count", "log": log, "facts": {}, "total": 11}
    assert len(queries.branch_ranges(thread, head_of(thread))) == 13
    assert verify_thread(thread).intact
    # A keyframe on the way bounds how far is read.
    assert materialized.materialise(thread, head_of(thread)).deltas_read == 12 * 3 + 1
    store.write_keyframe(thread, 0, state)
    assert materialized.materialise(thread, head_of(thread)).deltas_read == 0


@pytest.mark.django_db
@pytest.mark.parametrize("status", Status)
def test_a_thread_can_be_forked_in_every_status(status: Status) -> None:
    from tests.unit.checkpoints.builders import bring_to

    base = make_thread()
    first = head_of(base)
    bring_to(base, status)
    before = rows_of(base)
    fork = store.fork(base, checkpoint=first, changes={"total": 1}, actor=OPERATOR)
    assert queries.state_at(fork, head_of(fork))["total"] == 1
    assert acquired(fork).status is Status.RUNNING
    assert rows_of(base) == before
    assert verify_thread(fork).intact


@pytest.mark.django_db
def test_what_cannot_be_forked_is_refused() -> None:
    base, other = make_thread(), make_thread()
    before = count_all()
    with pytest.raises(NotFound):
        store.fork(base, checkpoint=head_of(other), changes={}, actor=OPERATOR)
    with pytest.raises(NotFound):
        store.fork(uuid4(), checkpoint=head_of(other), changes={}, actor=OPERATOR)
    for changes, path in (
        ({"total": float("nan")}, "$.total"),
        ({"facts": {"x": "\0"}}, "$.facts.x"),
        ({"goal": "x" * 8_400_000}, "$"),
    ):
        with pytest.raises(InvalidValue) as caught:
            store.fork(base, checkpoint=head_of(base), changes=changes, actor=OPERATOR)
        assert caught.value.path == path
    with pytest.raises(InvalidValue):
        store.fork(base, checkpoint=head_of(base), changes={}, actor=OPERATOR, title="x" * 301)
    assert count_all() == before


# --- any tree of forks, edits, rollbacks and upgrades against a model in plain Python ---------

small = st.one_of(st.integers(-9, 9), st.text("ab", max_size=2), st.none())
changes = st.dictionaries(st.sampled_from(["goal", "total", "extra"]), small, max_size=2)
step_deltas = st.fixed_dictionaries(
    {},
    optional={
        "append": st.fixed_dictionaries({"log": st.lists(small, min_size=1, max_size=2)}),
        "merge": st.fixed_dictionaries({"facts": st.dictionaries(st.text("xy"), small)}),
        "set": st.dictionaries(st.sampled_from(["goal", "total"]), small, min_size=1),
        "unset": st.just(["extra"]),
    },
)
moves = st.lists(
    st.tuples(
        st.sampled_from(
            ["step", "step", "edit", "fork", "rollback", "keyframe", "upgrade", "chain"]
        ),
        st.integers(0, 1_000),
        st.integers(0, 1_000),
        step_deltas,
        changes,
    ),
    min_size=6,
    max_size=16,
)


def plainly(state: dict[str, Any], delta: dict[str, Any]) -> dict[str, Any]:
    """What a delta means, with a copy of everything."""
    new = deltas.copied(state) | delta.get("set", {})
    for channel, items in delta.get("append", {}).items():
        new[channel] = new.get(channel, []) + items
    for channel, members in delta.get("merge", {}).items():
        new[channel] = new.get(channel, {}) | members
    return {channel: new[channel] for channel in new if channel not in delta.get("unset", [])}


# The next form of the state: `total` is overwritten now, and there is a list that was not.
LATER_CHANNELS = {
    **CHANNELS,
    "total": {"reducer": "last_value", "default": 0},
    "trail": {"reducer": "append", "default": []},
}


class Model:
    """Every checkpoint with its full state, kept in Python beside the database."""

    def __init__(self) -> None:
        self.states: dict[tuple[UUID, UUID], dict[str, Any]] = {}
        self.parents: dict[tuple[UUID, UUID], UUID | None] = {}
        self.threads: list[UUID] = []
        self.played: Counter[str] = Counter()

    def born(self, thread: UUID, state: dict[str, Any]) -> None:
        self.threads.append(thread)
        self.grew(thread, head_of(thread), None, state)

    def grew(self, thread: UUID, new: UUID, parent: UUID | None, state: dict[str, Any]) -> None:
        self.states[thread, new] = state
        self.parents[thread, new] = parent

    def own(self, thread: UUID) -> list[UUID]:
        return [checkpoint for owner, checkpoint in self.states if owner == thread]

    def behind(self, thread: UUID) -> list[UUID]:
        """The thread's own checkpoints on the way to its head."""
        results = []
        at = self.parents[thread, head_of(thread)]
        while at is not None and at in self.own(thread):
            results.append(at)
            at = self.parents[thread, at]
        return results

    def fingerprints(self, but: UUID) -> dict[UUID, dict[str, str]]:
        """Every row of every thread but one."""
        return {thread: rows_of(thread) for thread in self.threads if thread != but}

    def play(self, move: tuple[str, int, int, dict[str, Any], dict[str, Any]]) -> None:
        kind, a, b, delta, changed = move
        among = self.threads
        if kind == "rollback":  # which needs a way back
            among = [thread for thread in among if self.behind(thread)] or among
        thread = among[a % len(among)]
        own = self.own(thread)
        target = own[b % len(own)]
        if kind == "rollback":
            behind = self.behind(thread)
            if not behind:
                return
            target = behind[b % len(behind)]
        self.played[kind] += 1
        # Nobody but the thread itself may be written to: of a fork not even its base.
        alone = uuid4() if kind in ("fork", "chain") else thread
        others = self.fingerprints(alone)
        self.make(kind, thread, target, (b, delta, changed))
        after = self.fingerprints(alone)
        assert {each: after[each] for each in others} == others, kind

    def make(
        self,
        kind: str,
        thread: UUID,
        target: UUID,
        by: tuple[int, dict[str, Any], dict[str, Any]],
    ) -> None:
        b, delta, changed = by
        head = head_of(thread)
        before = self.states[thread, head]
        if kind == "step":
            driver = Driver(acquired(thread))
            new = driver.step(delta)
            store.hand_back(driver.work, reason="")
            self.grew(thread, new, head, plainly(before, delta))
        elif kind == "upgrade":
            later = make_agent(channels=LATER_CHANNELS, fingerprint="later")
            driver = Driver(acquired(thread))
            store.adopt_version(driver.work, later, fingerprint="later")
            driver = Driver(driver.work)  # which reads the state under the reducers of that code
            changed = {"set": {"trail": [b]}, "unset": ["extra"]}
            at = {"step": driver.work.step, "next_nodes": driver.work.next_nodes, "nodes": ()}
            new = driver.step(changed, source="upgrade", schema_version=2, **at)
            store.hand_back(driver.work, reason="")
            self.grew(thread, new, head, plainly(before, changed))
        elif kind == "edit":
            store.pause(thread, actor=OPERATOR)
            new = store.edit(thread, changes=changed, reason="", actor=OPERATOR)
            store.resume(thread, actor=OPERATOR)
            self.grew(thread, new, head, plainly(before, {"set": changed}))
        elif kind == "fork":
            fork = store.fork(thread, checkpoint=target, changes=changed, actor=OPERATOR)
            self.born(fork, plainly(self.states[thread, target], {"set": changed}))
        elif kind == "chain":
            for turn in range(3 + b % 6):
                target = self.own(thread)[-1 - turn % 2 :][0]
                fork = store.fork(thread, checkpoint=target, changes=changed, actor=OPERATOR)
                self.born(fork, plainly(self.states[thread, target], {"set": changed}))
                thread = fork
        elif kind == "keyframe":
            number = queries.checkpoint(thread, target).number
            store.write_keyframe(thread, number, materialized.materialise(thread, target).state)
        else:
            store.roll_back(
                thread, checkpoint=target, undo=(), reason="", actor=OPERATOR, head=head
            )
            new = Driver(acquired(thread)).finish_rollback(run_on=True)
            self.grew(thread, new, target, self.states[thread, target])


@pytest.fixture
def counted() -> Iterator[Counter[str]]:
    """How often each kind of move was played, so that the test cannot pass by doing nothing."""
    seen: Counter[str] = Counter()
    yield seen
    kinds = ("step", "edit", "fork", "rollback", "keyframe", "upgrade", "chain")
    assert min(seen[kind] for kind in kinds) >= 5, seen


@pytest.mark.slow
@pytest.mark.requirement("A20")
@pytest.mark.requirement("C15")
@given(plan=moves)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_tree_of_forks_edits_rollbacks_and_upgrades_reads_as_in_plain_python(
    db: None, counted: Counter[str], plan: list[Any]
) -> None:
    model = Model()
    thread = make_thread()
    model.born(thread, {"goal": "count", "log": [], "facts": {}, "total": 0})
    for move in plan:
        model.play(move)
    counted.update(model.played)
    for (owner, checkpoint), expected in model.states.items():
        result = materialized.materialise(owner, checkpoint)
        assert result.state == expected
        stored = queries.checkpoint(owner, checkpoint)
        reducers = materialized.reducers_of(stored.agent_version_id)
        assert stored.state_hash == Digests.of(expected, reducers).root.hex()
        assert stored.state_bytes == len(deltas.canonical(expected))
    for owner in model.threads:
        report = verify_thread(owner)
        assert report.intact, report.what
        marked = {c.id: c.abandoned for c in queries.checkpoints(owner, limit=100).rows}
        assert set(marked) == set(model.own(owner))
        on_way = {head_of(owner), *model.behind(owner)}
        assert {ident for ident, abandoned in marked.items() if not abandoned} == on_way

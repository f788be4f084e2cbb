"""How a thread begins: one checkpoint, one event, one name per workspace and agent."""

from __future__ import annotations

import threading
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from pytest_django import DjangoCaptureOnCommitCallbacks

from checkpoints import queries, store
from checkpoints.chain import verify_thread
from checkpoints.errors import AlreadyStarted, InvalidValue, NotFound
from checkpoints.queries.states import materialized
from checkpoints.signals import thread_changed, thread_queued
from checkpoints.states import Status
from tests.unit.checkpoints.builders import (
    OPERATOR,
    drive,
    head_of,
    kinds_of,
    make_agent,
    make_thread,
    make_workspace,
    one,
    rows,
)


@pytest.mark.django_db
def test_a_start_is_a_thread_with_its_input_as_first_checkpoint() -> None:
    workspace = make_workspace()
    thread = make_thread(
        workspace=workspace,
        input={"goal": "count", "facts": {"a": 1}},
        title="Count",
        name="monday",
        labels={"team": "blue"},
        pause_at="publish",
        effects="ask",
    )
    row = queries.thread(thread, workspace=workspace)
    assert (row.status, row.title, row.name, row.labels) == (
        Status.QUEUED,
        "Count",
        "monday",
        {"team": "blue"},
    )
    assert (row.number, row.step, row.branch, row.version, row.last_seq) == (0, 0, 0, 1, 1)
    assert (row.pause_at, row.effects, row.started_by) == ("publish", "ask", OPERATOR)
    assert row.next_nodes == ("work",)
    # Channels that the input leaves out have the agent's defaults.
    state = queries.state_at(thread, row.head)
    assert state == {"goal": "count", "facts": {"a": 1}, "log": [], "total": 0}
    [first] = queries.checkpoints(thread).rows
    assert (first.source, first.parent, first.id) == ("input", None, row.head)
    [event] = queries.events_after(thread, 0)
    assert event.data["checkpoint"]["checkpoint"] == str(row.head)
    assert verify_thread(thread).intact


@pytest.mark.django_db
def test_a_start_tells_the_floors_above_after_commit(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    heard: list[tuple[str, Any]] = []

    def changed(**news: Any) -> None:
        heard.append(("changed", (news["thread_id"], news["seq"])))

    def queued(**news: Any) -> None:
        heard.append(("queued", (news["thread_id"], news["queue"])))

    thread_changed.connect(changed)
    thread_queued.connect(queued)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            thread = make_thread(agent=make_agent("quick", queue="fast"))
            assert heard == []
    finally:
        thread_changed.disconnect(changed)
        thread_queued.disconnect(queued)
    assert heard == [("queued", (thread, "fast")), ("changed", (thread, 1))]


@pytest.mark.django_db
def test_a_thread_that_waits_for_a_worker_says_that_more_follows(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    heard: list[bool] = []

    def changed(**news: Any) -> None:
        heard.append(news["more_follows"])

    thread_changed.connect(changed)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            thread = make_thread()
            store.fork(thread, checkpoint=head_of(thread), changes={}, actor=OPERATOR)
    finally:
        thread_changed.disconnect(changed)
    assert heard == [True, True]


@pytest.mark.django_db
def test_a_name_is_taken_once_per_workspace_and_agent() -> None:
    workspace = make_workspace()
    first = make_thread(workspace=workspace, name="monday")
    with pytest.raises(AlreadyStarted) as caught:
        make_thread(workspace=workspace, name="monday", input={"goal": "other"})
    assert caught.value.facts["thread"] == first
    others = {
        make_thread(workspace=workspace, name="tuesday"),
        make_thread(workspace=make_workspace(), name="monday"),
        make_thread(workspace=workspace, agent=make_agent("other"), name="monday"),
        make_thread(workspace=workspace),
        make_thread(workspace=workspace),
    }
    assert len(others | {first}) == 6
    assert one("SELECT count(*) FROM gp_checkpoint") == 6
    assert one("SELECT count(*) FROM gp_event") == 6


def test_two_starts_with_one_name_at_once_make_one_thread(real_db: str) -> None:
    workspace, agent = make_workspace(), make_agent()
    started, refused, both = [], [], threading.Barrier(2)

    def begin(name: str) -> None:
        both.wait()
        try:
            started.append(make_thread(workspace=workspace, agent=agent, name=name))
        except AlreadyStarted as error:
            refused.append(error.facts["thread"])

    def several() -> None:
        for number in range(20):
            begin(f"name {number}")
        connection.close()

    workers = [threading.Thread(target=several) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(started) == len(refused) == 20
    assert set(started) == set(refused)
    assert one("SELECT count(*) FROM gp_thread") == 20


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"input": {"goal": float("nan")}}, "$.goal"),
        ({"input": {"goal": "a\0b"}}, "$.goal"),
        ({"input": {"facts": {"n": 2**53}}}, "$.facts.n"),
        ({"input": {"goal": "x" * 8_400_000}}, "$"),
        ({"labels": {"team": "\ud800"}}, "$.team"),
        ({"title": "x" * 301}, "title"),
        ({"title": "a\0b"}, "title"),
        ({"name": "x" * 256}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"pause_at": "n" * 101}, "pause_at"),
    ],
)
def test_what_cannot_be_stored_is_refused_with_its_path(more: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        make_thread(**more)
    assert caught.value.path == path
    assert one("SELECT count(*) FROM gp_thread") == 0


@pytest.mark.django_db
def test_an_unknown_agent_version_or_thread_is_not_found() -> None:
    with pytest.raises(NotFound):
        make_thread(agent=uuid4())
    with pytest.raises(NotFound):
        queries.thread(make_thread(), workspace=make_workspace())


@pytest.mark.django_db
@pytest.mark.requirement("A26")
def test_states_of_different_agents_lie_as_jsonb_in_one_table() -> None:
    workspace = make_workspace()
    schemas = {
        "counting": ({"goal": "count"}, {"append": {"log": [1]}}),
        "writing": ({"title": "Tides", "draft": [["a"], {"b": None}]}, {"set": {"draft": 1.5}}),
        "paying": ({"amount": "12.50"}, {"merge": {"payees": {"x": {"iban": "DE"}}}}),
    }
    threads: dict[str, UUID] = {}
    for name, (value, delta) in schemas.items():
        channels = {channel: {"reducer": "last_value"} for channel in value}
        threads[name] = make_thread(
            workspace=workspace, agent=make_agent(name, channels=channels), input=value
        )
        driver = drive(threads[name])
        driver.step(delta)
        store.write_keyframe(threads[name], 1, driver.state)
    types = rows(
        "SELECT DISTINCT pg_typeof(c.delta)::text, pg_typeof(c.nodes)::text, "
        "pg_typeof(e.data)::text FROM gp_checkpoint c "
        "JOIN gp_event e ON e.thread_id = c.thread_id"
    )
    assert types == [("jsonb",) * 3]
    # A cache that is read whole and never looked into.
    assert rows("SELECT DISTINCT pg_typeof(state)::text FROM gp_keyframe") == [("text",)]
    shapes = rows(
        "SELECT DISTINCT thread_id, (SELECT array_agg(k ORDER BY k) FROM jsonb_object_keys("
        "delta -> 'set') k) FROM gp_checkpoint WHERE number = 0"
    )
    assert {tuple(keys) for _, keys in shapes} == {
        tuple(sorted(value)) for value, _ in schemas.values()
    }
    # The database itself looks inside, whatever the agent.
    row = one(
        "SELECT thread_id FROM gp_checkpoint WHERE delta -> 'set' @> %s::jsonb",
        ('{"amount": "12.50"}',),
    )
    assert row == threads["paying"]
    for name, (value, _) in schemas.items():
        assert (
            materialized.materialise(threads[name], head_of(threads[name])).state.keys()
            >= value.keys()
        )
    assert kinds_of(threads["paying"])[-1] == "checkpoint.committed"

"""A start with a name: one thread however often, going on where it may, never past a person."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command

from checkpoints import queries, store
from checkpoints.states import EventKind, Status
from checkpoints.views import ThreadRow
from dashboard.errors import Invalid
from dashboard.identity.permissions import Grant, actor_of
from dashboard.threads.start import start_or_continue
from tests.support.cast import Cast
from tests.unit.checkpoints.racing import race
from tests.unit.dashboard import scene
from tests.unit.dashboard.calls import post, refused

INPUT = {"goal": "delays"}


def start(cast: Cast, name: str = "daily", *, who: Any = None, **more: Any) -> ThreadRow:
    value = {"agent": "research", "input": INPUT, "name": name} | more
    ident, _ = start_or_continue(who or cast.actor("operator"), **value)
    return queries.thread(ident, workspace=cast.workspace)


def left(thread: ThreadRow, by: EventKind, **more: Any) -> None:
    store.leave(scene.lease(thread.id), by, **more)


def kinds(thread: ThreadRow) -> list[str]:
    return [e.kind for e in queries.events_after(thread.id, 0)]


@pytest.mark.parametrize(
    ("by", "current", "goes"),
    [
        (None, "queued", "queued"),
        (EventKind.LEASE_ACQUIRED, "running", "running"),
        (EventKind.THREAD_SUSPENDED, "waiting", "waiting"),
        (EventKind.THREAD_SLEPT, "sleeping", "sleeping"),
        (EventKind.THREAD_PAUSED, "paused", "queued"),
        (EventKind.THREAD_FAILED, "failed", "queued"),
        (EventKind.THREAD_PARKED, "attention", "attention"),
        (EventKind.THREAD_SUCCEEDED, "succeeded", "succeeded"),
        (EventKind.THREAD_CANCELLED, "cancelled", "cancelled"),
        (EventKind.ROLLBACK_STARTED, "rolling_back", "rolling_back"),
    ],
)
def test_each_status_goes_on_or_is_answered_as_it_stands(
    cast: Cast, agent: UUID, by: EventKind | None, current: str, goes: str
) -> None:
    first = start(cast)
    if by is EventKind.LEASE_ACQUIRED:
        scene.lease(first.id)
    elif by is EventKind.THREAD_CANCELLED:
        store.cancel(first.id, actor="user:1")
    elif by is EventKind.ROLLBACK_STARTED:
        work = scene.lease(first.id)
        head = scene.step(work)
        store.roll_back(
            first.id, checkpoint=first.head, undo=(), reason="", actor="user:1", head=head
        )
    elif by is not None:
        left(first, by, wake_at_seconds=3600 if by is EventKind.THREAD_SLEPT else None)
    before = queries.thread(first.id, workspace=cast.workspace)
    assert before.status == current
    for _ in range(2):
        again = start(cast)
        assert again.id == first.id
        assert again.status == goes
    moved = current != goes
    assert len(kinds(first)) == before.last_seq + moved
    if moved:
        assert kinds(first)[-1] == {"paused": "thread.resumed", "failed": "thread.retried"}[current]


def test_the_same_input_or_none_is_the_same_start(cast: Cast, agent: UUID) -> None:
    first = start(cast)
    for same in (INPUT, {}, INPUT | {"findings": []}, INPUT | {"report": "", "limit": None}):
        assert start(cast, input=same).id == first.id
    # Also when it has gone on since.
    scene.step(scene.lease(first.id), findings=["a"])
    assert start(cast).id == first.id


@pytest.mark.parametrize("other", [{"goal": "other"}, INPUT | {"limit": 3}, {"report": "x"}])
def test_other_input_is_refused_not_dropped(cast: Cast, agent: UUID, other: dict[str, Any]) -> None:
    first = start(cast)
    with pytest.raises(Invalid, match="other input") as caught:
        start(cast, input=other)
    assert caught.value.request_path == "$.input"
    assert "/input/" in caught.value.detail
    assert caught.value.facts == {"thread": str(first.id)}
    assert kinds(first) == ["thread.started"]


def test_other_config_is_refused_not_dropped(cast: Cast, agent: UUID) -> None:
    first = start(cast, config={"model": "small"})
    assert start(cast, config={"model": "small"}).id == first.id
    assert start(cast).id == first.id
    with pytest.raises(Invalid, match="other config") as caught:
        start(cast, config={"model": "large"})
    assert caught.value.request_path == "$.config"


def test_a_repeated_start_does_not_pass_the_stop_it_asked_for(cast: Cast, agent: UUID) -> None:
    first = start(cast, pause_at="analyse")
    left(first, EventKind.THREAD_PAUSED)
    assert start(cast, pause_at="analyse").status == "paused"
    # Without it, or with a later one, the thread goes on.
    row = start(cast, pause_at="publish")
    assert (row.status, row.pause_at) == ("queued", "publish")
    left(first, EventKind.THREAD_PAUSED)
    assert start(cast).status == "queued"


@pytest.mark.requirement("B46")
@pytest.mark.parametrize(
    "name",
    [
        "x" * 255,
        "Bestellung №17 / 日本語 🚚",
        "  spaces  ",
        "a'b\"c;--\\",
        "e\u0301",
        "\u00e9",
        "null",
    ],
)
def test_names_are_any_text_of_255_characters(cast: Cast, agent: UUID, name: str) -> None:
    first = start(cast, name)
    assert first.name == name
    assert start(cast, name).id == first.id
    assert start(cast, name + "!" if len(name) < 255 else name[:-1]).id != first.id


@pytest.mark.requirement("B46")
@pytest.mark.parametrize("name", ["x" * 256, "", " ", "a\0b", "\ud800", 7, ["x"]], ids=repr)
def test_other_names_are_refused(cast: Cast, agent: UUID, name: Any) -> None:
    with pytest.raises(Invalid) as caught:
        start(cast, name)
    assert caught.value.request_path == "$.name"


@pytest.mark.requirement("B46")
def test_a_name_is_unique_per_workspace_and_agent(cast: Cast, agent: UUID) -> None:
    scene.make_agent("other")
    first = start(cast)
    elsewhere, new = start_or_continue(
        cast.actor("stranger"), agent="research", input=INPUT, name="daily"
    )
    other = start(cast, agent="other")
    assert new
    assert len({first.id, elsewhere, other.id}) == 3
    assert start(cast, agent="other").id == other.id
    assert start(cast, name=None).name is None
    assert start(cast, name=None).id != start(cast, name=None).id


def test_a_token_that_may_only_start_lets_nobodys_pause_go(cast: Cast, agent: UUID) -> None:
    first = start(cast)
    left(first, EventKind.THREAD_PAUSED)
    grant = Grant("abc", "nightly", cast.workspace, "default", frozenset({"start"}))
    row = start(cast, who=actor_of(cast.users["operator"], grant))
    assert (row.id, row.status) == (first.id, Status.PAUSED)
    assert start(cast).status == "queued"


def test_the_call_names_what_is_wrong(cast: Cast, agent: UUID) -> None:
    operator = cast.client("operator")
    body = {"agent": "research", "name": "daily", "input": INPUT}
    first = post(operator, "/threads/", body)
    assert first.status_code == 201
    assert post(operator, "/threads/", {"agent": "research", "name": "daily"}).status_code == 200
    problem = refused(
        post(operator, "/threads/", body | {"input": {"goal": "other"}}), 422, "$.input"
    )
    assert problem["thread"] == first.json()["id"]
    refused(post(operator, "/threads/", body | {"config": {"m": 1}}), 422, "$.config")
    refused(post(operator, "/threads/", body | {"config": 7}), 422, "$.config")
    big = {"prompt": "x" * 70_000}
    refused(post(operator, "/threads/", {"agent": "research", "config": big}), 422)


def test_the_command_continues_by_name(
    cast: Cast, agent: UUID, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("threads", "start", "research", "--set", "goal=delays", "--name", "daily", "--json")
    call_command(*words)
    first = json.loads(capsys.readouterr().out)
    store.pause(UUID(first["id"]), actor="user:1")
    call_command(*words)
    again = json.loads(capsys.readouterr().out)
    assert (again["id"], again["status"]) == (first["id"], "queued")
    with pytest.raises(SystemExit):
        call_command(*words[:4], "goal=another", *words[5:])
    assert "other input" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.requirement("B46")
def test_twenty_at_once_on_real_connections(real_db: str) -> None:
    """Ten rounds: one thread, twenty equal ids; a paused one is let go once."""
    from tests.support.cast import make_cast

    cast = make_cast()
    scene.make_agent()
    who = cast.actor("operator")

    def begin(number: int) -> tuple[UUID, bool]:
        return start_or_continue(who, agent="research", input=INPUT, name=f"race {number}")

    for answers in race(10, *[begin] * 20):
        assert len({ident for ident, _ in answers}) == 1
        assert sum(new for _, new in answers) == 1
    for number in range(10):
        paused, _ = begin(number)
        store.pause(paused, actor="user:1")
    for answers in race(10, *[begin] * 20):
        assert len({ident for ident, _ in answers}) == 1
        row = queries.thread(answers[0][0], workspace=cast.workspace)
        assert row.status is Status.QUEUED
        assert kinds(row).count("thread.resumed") == 1

"""News that work waits where no worker lives: once, after a while again, anew when it is new."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from approvals.notify import endpoints, wanted_workers
from approvals.notify.channels.kinds import usual_news
from approvals.notify.endpoints import Wanted
from approvals.notify.sender import Sender
from approvals.notify.wanted_workers import announce_wanted_workers
from checkpoints import store
from checkpoints.agent_versions import EXTERNAL_QUEUE
from checkpoints.ephemeral import copies
from tests.support.cast import Cast
from tests.unit.approvals import post
from tests.unit.approvals.post import Mailbox
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.requirement("E05"),
    pytest.mark.requirement("F14"),
    pytest.mark.usefixtures("loopback"),
]


@pytest.fixture
def receiver(cast: Cast) -> Iterator[post.Hook]:
    with post.web_hook() as hook:
        wanted = Wanted(name="starter", target=hook.url, events=["workers.wanted"])
        endpoints.make(cast.workspace, "webhook", wanted, actor="user:1")
        yield hook


def news() -> list[dict[str, Any]]:
    """What was put in the outbox, oldest first."""
    sql = "SELECT data::text FROM gp_outbox WHERE kind = 'workers.wanted' ORDER BY id"
    return [json.loads(data) for (data,) in rows(sql)]


def past(seconds: float) -> None:
    """What was announced was announced so long ago."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_duty SET until = until - make_interval(secs => %s) "
            "WHERE starts_with(name, 'wanted:')",
            (seconds,),
        )


def gone(name: str = "worker:1:boot") -> None:
    store.retire_worker(name)


def test_it_is_announced_once_and_again_after_a_while(cast: Cast, receiver: post.Hook) -> None:
    agent = scene.make_agent()
    assert announce_wanted_workers() == 0
    scene.start(cast.workspace, agent)
    scene.start(cast.workspace, agent)
    assert [announce_wanted_workers(), announce_wanted_workers()] == [1, 0]
    Sender().drain()
    (got,) = receiver.got
    message = json.loads(got.body)
    assert message["type"] == "workers.wanted"
    assert (message["data"]["queue"], message["data"]["threads"]) == ("gatepost", 2)
    assert message["data"]["oldest_seconds"] >= 0
    assert got.headers["webhook-signature"].startswith("v1,")
    past(wanted_workers.AGAIN_SECONDS - 5)
    assert announce_wanted_workers() == 0
    past(10)
    assert announce_wanted_workers() == 1


def test_what_waits_anew_is_announced_immediately(cast: Cast, receiver: post.Hook) -> None:
    agent = scene.make_agent()
    thread = scene.start(cast.workspace, agent)
    assert announce_wanted_workers() == 1
    scene.alive(agent)
    assert announce_wanted_workers() == 0  # somebody serves it
    gone()
    assert announce_wanted_workers() == 1  # and is gone
    store.cancel(thread, actor="user:1")
    assert announce_wanted_workers() == 0  # nothing waits
    scene.start(cast.workspace, agent)
    assert announce_wanted_workers() == 1
    assert len(news()) == 3


def test_each_queue_is_announced_by_itself(cast: Cast, receiver: post.Hook) -> None:
    scene.alive(scene.make_agent())  # serves "gatepost" alone
    scene.start(cast.workspace, scene.make_agent())
    assert announce_wanted_workers() == 0
    for queue in ("large", "far; away"):
        scene.start(cast.workspace, scene.make_agent(queue, queue=queue))
    assert announce_wanted_workers() == 2
    assert {one["queue"] for one in news()} == {"large", "far; away"}
    assert announce_wanted_workers() == 0


def test_a_standby_serves_no_queue(cast: Cast, receiver: post.Hook) -> None:
    store.announce_worker("standby", host="here", pid=1, slots=0, queues=[], agents=[])
    scene.start(cast.workspace, scene.make_agent())
    assert announce_wanted_workers() == 1


def test_a_thread_of_a_lost_worker_waits(cast: Cast, receiver: post.Hook) -> None:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    assert announce_wanted_workers() == 0  # somebody has it
    rows(
        "UPDATE gp_thread SET lease_until = clock_timestamp() - interval '9 seconds' "
        f"WHERE id = '{work.thread}' RETURNING id"
    )
    assert announce_wanted_workers() == 1
    assert 9 <= news()[0]["oldest_seconds"] < 60


def test_what_no_new_worker_could_take_is_not_announced(cast: Cast, receiver: post.Hook) -> None:
    old, new = scene.make_agent(version=1), scene.make_agent(version=2)
    for agent in (old, new):
        thread = scene.start(cast.workspace, agent)
        rows(f"UPDATE gp_thread SET pinned = true WHERE id = '{thread}' RETURNING id")
    scene.start(cast.workspace, scene.make_agent("elsewhere", queue=EXTERNAL_QUEUE))
    assert announce_wanted_workers() == 1
    (announced,) = news()
    assert (announced["queue"], announced["threads"]) == ("gatepost", 1)


def test_a_message_of_an_ephemeral_thread_waits(cast: Cast, receiver: post.Hook) -> None:
    thread = scene.waiting(cast.workspace, scene.make_agent()).thread
    now = copies.Point({}, {}, 1, ())
    copy = copies.Copy(now, None, fence=1, schema_version=1, config={})
    copies.save(thread, copy, added={}, ttl=60)
    assert announce_wanted_workers() == 0
    copies.send(thread, queue="gatepost", message={"text": "hello"}, actor="user:2", ttl=60)
    assert announce_wanted_workers() == 1


def test_only_workspaces_that_ask_are_told_and_of_their_own(
    cast: Cast, receiver: post.Hook
) -> None:
    other: UUID = store.create_workspace("other", actor="user:1")
    scene.start(other, scene.make_agent())
    assert announce_wanted_workers() == 0
    wanted = Wanted(name="mail", target="a@example.com", events=["workers.wanted"])
    endpoints.make(other, "email", wanted, actor="user:1")
    assert announce_wanted_workers() == 1
    ((workspace,),) = rows("SELECT workspace_id FROM gp_outbox WHERE kind = 'workers.wanted'")
    assert workspace == other


def test_nobody_gets_it_who_did_not_choose_it(cast: Cast) -> None:
    for kind in ("webhook", "email"):
        assert "workers.wanted" not in usual_news(kind)


def test_people_read_it_as_a_letter(cast: Cast, box: Mailbox) -> None:
    wanted = Wanted(name="mail", target="a@example.com", events=["workers.wanted"])
    endpoints.make(cast.workspace, "email", wanted, actor="user:1")
    scene.start(cast.workspace, scene.make_agent())
    assert announce_wanted_workers() == 1
    assert Sender().drain() == 1
    assert box.mails[-1][1]["subject"].startswith("Work waits for a worker")
    assert "1 thread waits in the queue gatepost" in box.text()

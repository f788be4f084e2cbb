"""A thread that an agent elsewhere could take is news, once per time that it waits."""

from __future__ import annotations

import pytest

from approvals.notify.stuck_threads import announce_waiting_work
from dashboard.administration.endpoints import MAKE, MakeEndpoint
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows

from .entry import Agent

pytestmark = pytest.mark.django_db


def test_work_that_waits_is_told_once(agent: Agent, cast: Cast) -> None:
    agent.start(name="tonight")
    assert announce_waiting_work() == 0  # nobody wants to know
    made = MakeEndpoint(kind="webhook", name="starter", target="https://agent.example/in")
    MAKE.run(cast.actor("admin"), made)
    assert [announce_waiting_work(), announce_waiting_work()] == [1, 0]
    agent.take()
    assert announce_waiting_work() == 0
    agent.release("queued")
    assert [announce_waiting_work(), announce_waiting_work()] == [1, 0]
    news = rows("SELECT thread_id::text, data ->> 'name' FROM gp_outbox WHERE kind = %s", (KIND,))
    assert news == [(agent.thread, "tonight")] * 2


KIND = "thread.work_waiting"

"""An agent elsewhere that let its lease run out: the status agrees with the sentence beside it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import pytest

from checkpoints.queries import why
from dashboard.external import leases, next_steps
from dashboard.wording import sentences
from dashboard.wording import why as wording
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows

from .entry import Agent

pytestmark = pytest.mark.django_db


def test_the_status_says_with_the_sentence_that_the_agent_is_silent(
    agent: Agent, cast: Cast
) -> None:
    agent.start()
    agent.take()
    client = cast.client("operator")
    pages = (f"/threads/{agent.thread}/", "/")

    def texts() -> list[str]:
        return [client.get(page, follow=True).content.decode() for page in pages]

    assert not any("agent silent" in text.lower() for text in texts())
    rows("UPDATE gp_thread SET lease_until = clock_timestamp() - interval '1 minute'")
    detail, board = texts()
    assert "Agent silent" in detail
    assert "agent silent" in board
    assert "No report from its agent since the lease expired at" in board
    agent.take()
    assert not any("agent silent" in text.lower() for text in texts())


@pytest.mark.parametrize("hours", [-1, 1])
def test_the_clock_of_a_web_process_decides_about_no_lease(
    agent: Agent, cast: Cast, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    class Apart(datetime):
        """A clock that is apart from that of the database."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return datetime.now(tz or UTC) + timedelta(hours=hours)

    for module in (sentences, wording, why, leases, next_steps):
        monkeypatch.setattr(module, "datetime", Apart, raising=False)
    agent.start()
    agent.take()
    client = cast.client("operator")
    is_over = hours < 0
    if is_over:
        rows("UPDATE gp_thread SET lease_until = clock_timestamp() - interval '1 minute'")
    page = client.get(f"/threads/{agent.thread}/").content.decode()
    assert ("Agent silent" in page) is is_over
    lease, agent.lease = agent.lease, ""
    assert agent.get("next/")["do"] == ("take" if is_over else "wait")
    if not is_over:
        refused = agent.call("POST", "lease/", {"name": "host-2", "seconds": 60})
        assert refused.status == 409
        assert 1 < int(refused.headers["retry-after"]) <= 60
    agent.lease = lease

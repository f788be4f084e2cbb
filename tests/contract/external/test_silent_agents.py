"""An agent elsewhere that let its lease run out: the status agrees with the sentence beside it."""

from __future__ import annotations

import pytest

from tests.cast import Cast
from tests.checkpoints.builders import rows

from .door import Agent

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
    assert "Its agent has been silent since its lease ran out at" in board
    agent.take()
    assert not any("agent silent" in text.lower() for text in texts())

"""The page of an agent's version says how many steps it takes on its own."""

from __future__ import annotations

import pytest

from gatepost import END, Graph, State
from tests.support.cast import Cast
from workers.code.registry import announce


class Nothing(State):
    pass


@pytest.mark.requirement("F06")
@pytest.mark.parametrize(
    ("limit", "words"),
    [(10_000, "10,000 after the last message"), (7, "7 after"), (None, "No limit")],
)
def test_the_page_of_an_agent_shows_its_limit_of_steps(
    cast: Cast, limit: int | None, words: str
) -> None:
    graph = Graph("short", Nothing, max_steps=limit)
    graph.node("go", then=END)(lambda state, ctx: {})
    version = announce(graph, {}, ()).version_id
    address = f"/admin/checkpoints/agentversion/{version}/change/"
    page = cast.client("auditor").get(address, follow=True).content.decode()
    assert words in page

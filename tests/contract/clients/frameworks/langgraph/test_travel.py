"""Time travel is LangGraph's own, also with subgraphs; in an environment of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.contract.clients.bench import Script, payload

pytestmark = pytest.mark.nightly

WAYS, KINDS_OF_SUBGRAPH, DEPTHS, CALLS = 5, 3, 2, 2


@pytest.mark.requirement("F04")
def test_each_way_back_gives_what_langgraph_gives(langgraph: Callable[..., Script]) -> None:
    printed = langgraph("travel.py").end(seconds=400)
    assert payload(printed) == {"same": WAYS * KINDS_OF_SUBGRAPH * DEPTHS * CALLS}

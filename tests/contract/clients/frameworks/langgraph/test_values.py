"""Values of LangGraph are JSON, or refused with their path; in an environment of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.contract.clients.bench import Script, payload

pytestmark = pytest.mark.nightly


@pytest.mark.requirement("F04")
@pytest.mark.slow  # it starts a process
def test_values_are_json_or_refused_with_their_path(langgraph: Callable[..., Script]) -> None:
    assert payload(langgraph("values.py").end()) == {"same": 72, "refused": 8}

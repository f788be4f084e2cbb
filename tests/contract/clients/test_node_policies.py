"""A policy that names a step holds a Python script before it, which nobody changed for that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from approvals.policies import changes as policies
from approvals.policies import node_policies
from approvals.policies.drafts import Draft
from checkpoints.queries import default_workspace

from .bench import Server, lines, pause, payload
from .test_python_agents import Make, start

__all__ = ["start"]  # a fixture

pytestmark = pytest.mark.slow  # each test starts processes


@pytest.fixture
def held(server: Server, request: pytest.FixtureRequest) -> Iterator[None]:
    """Nobody counts without a person, while the test lasts."""
    workspace = default_workspace()
    condition = "node == 'count' && agent == 'sends'"
    made = policies.make(workspace, Draft(request.node.name, condition), actor="user:0")
    pause(node_policies.SECONDS + 0.1)  # the web server has looked shortly before
    yield
    policies.switch(made.policy, False, workspace=workspace, actor="user:0")


@pytest.mark.requirement("E02")
@pytest.mark.usefixtures("held")
def test_a_script_waits_before_the_step_is_killed_there_and_goes_on(
    server: Server, start: Make, tmp_path: Path
) -> None:
    first = start("sends", "held")
    thread = server.wait_thread("sends", "held")
    request = server.wait_request(thread)
    assert (request["node"], request["tool"]) == ("count", "")
    assert lines(tmp_path / "count") == []
    first.kill()
    second = start("sends", "held")
    server.decide(thread)  # the step
    assert server.decide(thread)["title"] == "Send held?"
    assert payload(second.end()) == [4, "sent held"]
    assert lines(tmp_path / "count") == ["held"]
    assert server.verify(thread)["intact"] is True


@pytest.mark.usefixtures("held")
def test_a_refusal_is_an_error_of_the_step(server: Server, start: Make, tmp_path: Path) -> None:
    first = start("sends", "refused")
    thread = server.wait_thread("sends", "refused")
    server.decide(thread, "reject", comment="count no more")
    assert "count no more" in first.end(1)
    assert lines(tmp_path / "count") == []
    assert server.wait_status(thread, "failed")

"""The summary of a long conversation stands in the context of its state and says what it is."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoints.states import Status
from gatepost import Reply, Request, react
from tests.support.cast import Cast
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import bare
from workers.code.registry import announce

from .models import calls
from .test_loop import look_up

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("E10")]


def test_a_state_read_names_the_summary_and_what_it_stands_for(cast: Cast) -> None:
    answers = iter([calls(("look_up", {"city": f"{n}" * 400})) for n in range(8)] + ["done"])

    def model(request: Request) -> Any:
        if "shorten" in request.system:
            return Reply("They looked at cities.", model="test-1")
        answer = next(answers)
        return Reply(answer) if isinstance(answer, str) else answer

    graph = react("towns", model=model, tools=[look_up], summarise_at=1500, keep=4)
    bench = Bench(announce(graph, {}, [bare]), cast.workspace)
    thread = bench.start(goal="Which town?")
    row = bench.advance(thread)
    assert (row.status, row.status_reason) == (Status.SUCCEEDED, "")
    client = cast.client("operator")
    now = client.get(f"/api/v1/threads/{thread}/state/").json()
    (summary,) = now["context"]["summaries"]
    assert summary == {
        "channel": "summary", "of": "messages", **now["state"]["summary"],
    }  # fmt: skip
    assert summary["text"] == "They looked at cities."
    assert 4 < summary["messages"] < len(now["state"]["messages"])
    # The record has the call that wrote it, and the state before it has none.
    written = [a for a in bench.activities(thread) if a.kind == "model" and "summarise" in a.key]
    assert written[-1].result["text"] == summary["text"]
    first = min(bench.checkpoints(thread), key=lambda one: one.number)
    before = client.get(f"/api/v1/threads/{thread}/state/?checkpoint={first.id}").json()
    assert "summaries" not in before["context"]
    assert bench.intact(thread)

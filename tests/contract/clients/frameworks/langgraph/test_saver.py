"""Savers: two writers, growth, time travel, delta channels; beside LangGraph's own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.clients.bench import Script, Server, payload

pytestmark = pytest.mark.nightly  # each test starts processes
ROUNDS = max(100, int(os.environ.get("ROUNDS", 0)))  # of each of two writers; 500 are the whole


def checkpoints(server: Server, thread: str) -> list[dict[str, Any]]:
    """All checkpoints of a thread, newest first."""
    rows: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = server.operator.get(f"/threads/{thread}/checkpoints/?limit=200&cursor={cursor}")
        rows += page["results"]
        cursor = page["next_cursor"] or None
    return rows


def recorded_bytes(server: Server, thread: str) -> int:
    """How many bytes of JSON are on record of a thread: deltas, and values beside them."""
    total, start = 0, 0
    while start is not None:
        page = server.operator.get(f"/threads/{thread}/record/?limit=200&start={start}")
        for step in page["steps"]:
            values = [step["delta"], *([a["args"], a["result"]] for a in step["activities"])]
            total += len(json.dumps(values))
        start = page["next_cursor"]
    return total


def test_two_writers_fork_nothing_and_lose_nothing(
    server: Server, langgraph: Callable[..., Script]
) -> None:
    writers = [langgraph("writers.py", name, str(ROUNDS), folder=name) for name in ("one", "two")]
    counts = [payload(writer.end(seconds=400)) for writer in writers]
    thread = server.wait_thread("writers", "shared")
    rows = checkpoints(server, thread)
    done = sum(count["put"] for count in counts)
    assert sum(count["outdated"] for count in counts) + done == 2 * ROUNDS
    assert min(count["put"] for count in counts) > ROUNDS / 10, counts
    assert len(rows) == done + 1
    assert {row["source"] for row in rows} == {"step", "input"}
    assert not any(row["abandoned"] for row in rows)
    assert [row["parent"] for row in rows[:-1]] == [row["id"] for row in rows[1:]]
    state = server.state(thread)
    assert (state["n"], len(state["log"])) == (done, done)
    assert server.verify(thread)["intact"] is True


def test_threads_are_found_by_searchable_channels(
    server: Server, langgraph: Callable[..., Script]
) -> None:
    refused = payload(langgraph("searched.py").end())["refused"]
    assert "day is searchable and holds a date" in refused
    thread = server.wait_thread("searched", "plain")
    for query, expected in {
        "state.customer:ACME": [thread],
        "state.tags:second": [thread],
        "state.customer:acme": [],
    }.items():
        page = server.operator.get(f"/threads/?q=agent:searched+{query}")
        assert [row["id"] for row in page["results"]] == expected, query
    assert server.verify(thread)["intact"] is True


def test_a_growing_channel_is_kept_once(server: Server, langgraph: Callable[..., Script]) -> None:
    sizes = {}
    for steps in (100, 200):
        name = f"growing-{steps}"
        assert payload(langgraph("growing.py", str(steps), name, folder=name).end())
        sizes[steps] = recorded_bytes(server, server.wait_thread("growing", name))
    print(f"bytes on record: {sizes}")
    assert sizes[200] <= 2.1 * sizes[100]
    assert sizes[200] < 200 * 3_000  # a copy per step would be 10 MB


def test_time_travel_is_langgraphs_own_and_our_api_shows_the_same(
    server: Server, langgraph: Callable[..., Script]
) -> None:
    history = payload(langgraph("histories.py", "time_travel").end(seconds=90))["history"]
    thread = server.wait_thread("travel", "travel")
    rows = {row["id"]: row for row in checkpoints(server, thread)}
    row = server.thread("travel", "travel")
    assert row["head"] == history[0]["id"]
    for point in history:
        shown = server.operator.get(f"/threads/{thread}/state/?checkpoint={point['id']}")["state"]
        assert {k: shown[k] for k in point["values"] if k in shown} == {
            k: v for k, v in point["values"].items() if k in shown
        }
        parent = rows[point["id"]]["parent"]
        if parent in rows and rows[parent]["source"] == "rollback":
            parent = rows[parent]["parent"]
        if point["parent"] is not None:
            assert parent == point["parent"]
    assert {row["source"] for row in rows.values()} == {"step", "input", "rollback"}
    # People go back and edit; LangGraph goes on from there.
    target = next(p for p in history if p["values"].get("places") == ["home", "a!"])
    body = {"checkpoint": target["id"], "reason": "look again"}
    server.operator.post(f"/threads/{thread}/rollback/", body)
    server.wait_status(thread, "paused")
    server.operator.post(
        f"/threads/{thread}/edit/", {"changes": {"mood": "#"}, "reason": "another mood"}
    )
    server.operator.post(f"/threads/{thread}/resume/", {})
    result = payload(langgraph("histories.py", "continued", folder="two").end())
    assert result["values"] == {"places": ["home", "a!"], "mood": "#"}
    assert result["next"] == ["b"]
    assert result["end"] == {"places": ["home", "a!", "b#", "c#"], "mood": "#"}
    assert server.thread("travel", "travel")["head"] == result["head"]
    assert server.verify(thread)["intact"] is True


@pytest.mark.parametrize(
    ("part", "result"),
    [
        ("delta_channels", {"points": 22, "left": 8}),  # back to the last snapshot
        ("order_of_writes", {"writes": 6}),
        ("one_process", None),
    ],
)
def test_what_the_suite_leaves_out(
    langgraph: Callable[..., Script], part: str, result: Any
) -> None:
    printed = payload(langgraph("histories.py", part).end(seconds=90))
    assert result is None or printed == result
    if part == "one_process":
        assert "Somebody else has gone on" in printed["refused"]

"""The loop on both wires, against a server that keeps what it got."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatepost import Harness, react
from tests.unit.workers.language.model_server import Say, serving_models
from workers.language.configuration import model_of

from .test_loop import add, look_up


def results(body: dict[str, Any]) -> list[tuple[str, str]]:
    """(call, content) of the results of tools in a request of either wire."""
    pairs = []
    for message in body["messages"]:
        if message["role"] == "tool":
            pairs.append((message["tool_call_id"], message["content"]))
        elif isinstance(message["content"], list):
            pairs += [
                (block["tool_use_id"], block["content"])
                for block in message["content"]
                if block["type"] == "tool_result"
            ]
    return pairs


@pytest.mark.requirement("C36")
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_loop_with_parallel_calls_over_http(wire: str) -> None:
    script = (
        Say(
            calls=(
                ("c1", "add", '{"a": 2, "b": 3}'),
                ("c2", "look_up", '{"city": "Bonn"}'),
                ("c3", "add", '{"a": "two"}'),
            )
        ),
        Say(calls=(("c4", "add", '{"a": 2}'),)),
        Say("5 degrees"),
    )
    with serving_models(*script) as server:
        model = model_of(f"{wire}:test-1@{server.url}?prices={wire}")
        graph = react(tools=[add, look_up], instructions="Be brief.", max_tokens=10_000)
        thread = Harness(graph).play({"goal": "How warm?"}, model=model)
        assert (thread.status, thread.state["answer"]) == ("succeeded", "5 degrees"), thread.reason
        assert thread.state["tokens"] == thread.tokens == 360
        first, second, third = server.bodies
        assert len(first["tools"]) == 2
        assert results(second) == [
            ("c1", "5"),
            ("c2", '{"city":"Bonn","degrees":7}'),
            ("c3", results(second)[2][1]),
        ]
        assert "$.a: 'two' is not of type 'integer'" in results(second)[2][1]
        assert results(third)[3:] == [("c4", "3")]
        assert "Be brief." in json.dumps(first)
        kinds = [e.kind for e in thread.events]
        assert kinds.count("model.tool_called") == 4

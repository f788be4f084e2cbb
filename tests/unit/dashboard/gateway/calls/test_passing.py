"""What passes through: the SDK's own client in both forms of the protocol, HTTP and stdio."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from checkpoints import chain
from checkpoints.states import Status
from tests.faults.embedded.helpers import wait_until
from tests.unit.dashboard.gateway.calls.bench import SECRET, SERVERS, Gate, gate, last, text_of

pytestmark = [pytest.mark.slow, pytest.mark.requirement("G10")]


async def walk(at: Gate, mode: Any) -> dict[str, Any]:
    """Everything that a client can ask for, by the SDK's own client."""
    bearer = {"Authorization": f"Bearer {at.token}"}
    async with (
        httpx2.AsyncClient(headers=bearer, timeout=30) as http,
        Client(streamable_http_client(at.url, http_client=http), mode=mode) as client,
    ):
        tools = await client.list_tools()
        added = await client.call_tool("add", {"a": 2, "b": 3})
        many = await asyncio.gather(
            *(client.call_tool("look", {"key": f"k{n}", "seconds": 0.2}) for n in range(8))
        )
        resource = await client.read_resource("note://today")
        prompt = await client.get_prompt("greet", {"name": "Ada"})
        return {
            "tools": sorted(tool.name for tool in tools.tools),
            "added": added.content[0].text,  # type: ignore[union-attr]
            "many": [one.content[0].text for one in many],  # type: ignore[union-attr]
            "resource": resource.contents[0].text,  # type: ignore[union-attr]
            "prompt": prompt.messages[0].content.text,  # type: ignore[union-attr]
        }


@pytest.mark.requirement("E02")
@pytest.mark.parametrize("command", [False, True], ids=["http", "stdio"])
def test_all_passes_through_and_is_recorded(real_db: str, tmp_path: Path, command: bool) -> None:
    with gate(tmp_path, command=command) as at:
        for mode in ("legacy", "auto"):
            seen = asyncio.run(walk(at, mode))
            assert seen == {
                "tools": ["add", "fall_over", "leak", "look", "send_mail"],
                "added": "5",
                "many": [f"k{n}" for n in range(8)],
                "resource": "nothing",
                "prompt": "Say hello to Ada.",
            }
        # All of one token's calls stand on one thread, each with its arguments and its result.
        (thread,) = at.threads()
        assert thread.status is Status.RUNNING
        recorded = Counter((a.tool, a.state) for a in at.effects())
        assert recorded == {
            ("add", "done"): 2,
            ("look", "done"): 16,
            ("resources/read", "done"): 2,
            ("prompts/get", "done"): 2,
        }
        added = [a for a in at.effects() if a.tool == "add"]
        assert {str(a.args) for a in added} == {str({"a": 2, "b": 3})}
        assert chain.verify_thread(thread.id).intact


@pytest.mark.parametrize("command", SERVERS)
def test_a_credential_reaches_the_server_and_no_record(
    real_db: str, tmp_path: Path, command: bool
) -> None:
    with gate(tmp_path, command=command) as at:
        result = at.call("leak", {})
        assert SECRET not in str(result)
        assert "credential" in text_of(result)
        (effect,) = at.effects()
        assert (effect.state, SECRET in str(effect.result)) == ("done", False)
        assert "withheld" in str(effect.result)


def test_a_conversation_ends_when_nothing_more_is_said(real_db: str, tmp_path: Path) -> None:
    with gate(tmp_path, GATEPOST_MCP_IDLE_SECONDS="0.1", GATEPOST_LEASE_SECONDS="5") as at:
        at.call("add", {"a": 1, "b": 1})
        wait_until(
            lambda: [t.status for t in at.threads()] == [Status.SUCCEEDED],
            seconds=20,
            what="the end of the conversation",
        )
        at.call("add", {"a": 1, "b": 2})
        assert len(at.threads()) == 2
        at.call("add", {"a": 1, "b": 2}, headers={"Gatepost-Conversation": "other"})
        assert len(at.threads()) == 3


def test_an_error_of_the_server_is_passed_on_and_recorded(gateway: Gate) -> None:
    answer = last(gateway.send("tools/call", {"name": "add", "arguments": {"a": "x"}}))
    assert answer["result"]["isError"] is True  # the SDK's server says it in a result
    (effect,) = gateway.effects()
    assert effect.state == "done"
    answer = last(gateway.send("resources/read", {"uri": "note://nowhere"}))
    assert "error" in answer

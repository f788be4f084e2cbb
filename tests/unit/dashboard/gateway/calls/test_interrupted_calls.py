"""Calls whose client leaves, or whose server ends, before there is an answer."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from checkpoints.states import Status
from tests.faults.embedded.helpers import wait_until
from tests.unit.dashboard.gateway.calls.bench import VERSION, Gate, gate, text_of

pytestmark = pytest.mark.nightly


@pytest.mark.interop("MCP client")
def test_a_call_is_carried_out_and_recorded_though_its_client_leaves(gateway: Gate) -> None:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "look",
            "arguments": {"key": "slow", "seconds": 5},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": VERSION,
                "io.modelcontextprotocol/clientInfo": {"name": "hasty", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    }
    headers = {
        "Authorization": f"Bearer {gateway.token}",
        "Accept": "application/json, text/event-stream",
    }
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(gateway.url, json=body, headers=headers, timeout=httpx.Timeout(60, read=1))
    assert [effect.state for effect in gateway.effects()] == ["started"]
    wait_until(
        lambda: [effect.state for effect in gateway.effects()] == ["done"],
        seconds=30,
        what="the record of the call",
    )
    assert gateway.outside() == ["look at slow"]


def test_a_program_that_ends_in_the_middle_of_a_call_is_started_again(
    real_db: str, tmp_path: Path
) -> None:
    with gate(tmp_path, command=True) as at:
        assert "Nobody knows" in text_of(at.call("fall_over", {}))
        (thread,) = at.threads()
        assert thread.status is Status.ATTENTION
        assert [effect.state for effect in at.effects()] == ["unknown"]
        elsewhere = {"Gatepost-Conversation": "another"}
        assert text_of(at.call("add", {"a": 2, "b": 3}, headers=elsewhere)) == "5"
    assert at.outside() == ["fell over"]


@pytest.mark.parametrize("command", [False, True], ids=["http", "stdio"])
def test_a_call_that_takes_too_long_is_left_to_a_person(
    real_db: str, tmp_path: Path, command: bool
) -> None:
    """A tool that only reads just fails; of any other nobody knows whether it happens yet."""
    with gate(tmp_path, command=command, GATEPOST_MCP_CALL_SECONDS="8") as at:
        assert text_of(at.call("add", {"a": 1, "b": 1})) == "2"
        text = text_of(at.call("look", {"key": "slow", "seconds": 14}))
        assert "Nobody knows whether the call happened" in text
        assert "took too long" in text or "broke off" in text
        (thread,) = at.threads()
        assert str(thread.id) in text
        assert thread.status is Status.ATTENTION
        assert [(effect.tool, effect.state) for effect in at.effects()] == [
            ("add", "done"),
            ("look", "unknown"),
        ]

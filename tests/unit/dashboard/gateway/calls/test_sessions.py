"""Sessions of clients before 2026-07-28: begun, used, ended by DELETE; each for one client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from checkpoints.states import Status
from tests.faults.embedded.helpers import wait_until
from tests.unit.dashboard.gateway.calls.bench import SERVERS, Gate, gate, last

pytestmark = pytest.mark.slow
LEGACY = "2025-06-18"


def _post(at: Gate, method: str, session: str = "", token: str | None = None, **params: Any) -> Any:
    """One message of the handshake, with or without a session."""
    body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if not method.startswith("notifications/"):
        body["id"] = next(at.numbers)
    named = {"mcp-session-id": session, "mcp-protocol-version": LEGACY} if session else {}
    return at.post(body, token=token, headers=named)


def _begun(at: Gate) -> str:
    """A session after its handshake."""
    about = {"clientInfo": {"name": "raw", "version": "1"}, "capabilities": {}}
    response = _post(at, "initialize", protocolVersion=LEGACY, **about)
    assert response.status_code == 200, response.text
    session = response.headers["mcp-session-id"]
    assert _post(at, "notifications/initialized", session).status_code in (200, 202)
    return str(session)


def _ended(at: Gate, session: str, token: str | None = None) -> int:
    """The status of a DELETE."""
    named = {"Authorization": f"Bearer {at.token if token is None else token}"}
    if session:
        named |= {"mcp-session-id": session, "mcp-protocol-version": LEGACY}
    response = httpx.delete(at.url, headers=named, timeout=30)
    assert response.content == b"" or response.status_code >= 400
    return response.status_code


def _listed(at: Gate, session: str) -> httpx.Response:
    response: httpx.Response = _post(at, "tools/list", session)
    return response


@pytest.mark.parametrize("command", SERVERS)
def test_a_session_that_its_client_ends_is_over_there_and_nowhere_else(
    real_db: str, tmp_path: Path, command: bool
) -> None:
    with gate(tmp_path, command=command) as at:
        first, second = _begun(at), _begun(at)
        assert first != second
        for session in (first, second):
            assert last(_listed(at, session))["result"]["tools"]
        called = _post(at, "tools/call", first, name="add", arguments={"a": 1, "b": 2})
        assert last(called)["result"]["content"][0]["text"] == "3"

        assert 200 <= _ended(at, first) < 300
        # It is unknown from now on, as MCP wants: its client begins another one.
        assert _listed(at, first).status_code == 404
        gone = _post(at, "tools/call", first, name="send_mail", arguments={"to": "a", "text": "b"})
        assert gone.status_code == 404
        assert _ended(at, first) == 404
        assert last(_listed(at, second))["result"]["tools"]
        assert at.outside() == []

        # What was called stays on record; the conversation outlives its sessions.
        (thread,) = at.threads()
        assert thread.status is Status.RUNNING
        states = [(effect.tool, effect.state) for effect in at.effects()]
        assert states == [("add", "done"), ("send_mail", "failed")]


def test_a_session_is_ended_by_its_own_client_only(real_db: str, tmp_path: Path) -> None:
    with gate(tmp_path, command=True) as at:
        session = _begun(at)
        strangers = {
            "another token": (at.token_of("operator"), 404),
            "elsewhere": (at.token_of("stranger", workspace="elsewhere"), 404),
            "no scope": (at.token_of("operator", scopes=["start"]), 403),
            "unknown": ("gp_x", 401),
        }
        for name, (token, status) in strangers.items():
            assert _ended(at, session, token) == status, name
        for unknown in ("", "x", session[:-1], f"{session}0"):
            assert _ended(at, unknown) == 404, unknown
        assert last(_listed(at, session))["result"]["tools"]


def test_a_server_that_is_away_leaves_its_session_to_its_own_end(gateway: Gate) -> None:
    session = _begun(gateway)
    gateway.upstream.stop()
    assert _ended(gateway, session) == 502
    gateway.upstream.start()
    wait_until(lambda: _ended(gateway, session) == 404, seconds=20, what="the server")

"""The credential of a server stays between the gateway and it, whatever the server sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from dashboard.administration.mcp_servers import mcp_server
from dashboard.gateway.registry.changes import Wanted
from tests.contract.written import everything
from tests.unit.dashboard.gateway.calls.bench import SECRET, Gate, gate, last, stream, text_of
from tests.unit.dashboard.gateway.calls.scripted import TOOL, Message, Scripted, scripted
from tests.unit.dashboard.gateway.servers import (
    change_mcp_server,
    list_mcp_tools,
    set_mcp_tool_mode,
)

pytestmark = pytest.mark.slow
TEXT = f"the key {SECRET} was refused\0"
ERROR = {"code": -32000, "message": TEXT, "data": {SECRET: [TEXT, 7, None]}}
NOTE = {
    "method": "notifications/progress",
    "params": {"progressToken": "p", "progress": 1, "message": TEXT},
}
WITHHELD = {"result": {"content": [{"type": "text", "text": SECRET}], "isError": True}}
NOT_KEPT = {"result": {SECRET: {"text": "\0"}}}


def _answers(*messages: Message) -> Any:
    return lambda _: list(messages)


def _clean(at: Gate, method: str, params: Message) -> Any:
    """Send a request whose answer may not hold the credential; the answer."""
    response = at.send(method, params, meta={"progressToken": "p"})
    assert SECRET not in response.text, method
    assert "***" in response.text, (method, response.text)
    assert "the key *** was refused" in response.text, method
    assert response.status_code == 200
    return last(response)


def test_errors_notes_and_contents_reach_the_client_without_it(
    real_db: str, tmp_path: Path
) -> None:
    with scripted() as server, gate(tmp_path, url=server.url) as at:
        _errors_of_calls(at, server)
        _what_passes_through(at, server)
        _results_of_tasks(at, server)
        _listings(at, server)
        _nothing_is_kept(at)


def _errors_of_calls(at: Gate, server: Scripted) -> None:
    call = {"name": "say", "arguments": {}}
    server.answers["tools/call"] = _answers({"error": ERROR})
    answer = _clean(at, "tools/call", call)
    assert answer["error"]["code"] == -32000
    assert answer["error"]["data"]["***"][1:] == [7, None]
    server.answers["tools/call"] = _answers(NOTE, {"error": ERROR})
    messages = stream(at.send("tools/call", call, meta={"progressToken": "p"}))
    assert [one.get("method") for one in messages] == ["notifications/progress", None]
    _clean(at, "tools/call", call)
    assert [effect.state for effect in at.effects()] == ["failed"] * 3
    assert {effect.error for effect in at.effects()} == {r"the key *** was refused\x00"}
    server.answers["tools/call"] = _answers(WITHHELD)
    result = at.call("say", {})
    assert SECRET not in str(result)
    assert "credential" in text_of(result)
    server.answers["tools/call"] = _answers(NOT_KEPT)
    result = at.call("say", {})
    assert SECRET not in str(result)
    assert '$["***"]' in text_of(result)


def _what_passes_through(at: Gate, server: Scripted) -> None:
    reading = {"uri": "note://x"}
    server.answers["resources/read"] = _answers({"error": ERROR})
    _clean(at, "resources/read", reading)
    server.answers["resources/read"] = _answers(
        NOTE, {"result": {"contents": [{"uri": "note://x", "text": TEXT}]}}
    )
    _clean(at, "resources/read", reading)
    server.answers["initialize"] = _answers({"result": {"instructions": TEXT, "capabilities": {}}})
    _clean(at, "initialize", {})


def _results_of_tasks(at: Gate, server: Scripted) -> None:
    """A held call: the error of its task, as often as the client asks for it."""
    set_mcp_tool_mode(at.cast.actor("admin"), at.server, "say", "ask")
    server.answers["tools/call"] = _answers({"error": ERROR})
    task = at.call("say", {"n": 1}, tasks=True)["taskId"]
    at.decide()
    for _ in range(40):
        shown = at.send("tasks/get", {"taskId": task}, tasks=True)
        assert SECRET not in shown.text
        if last(shown)["result"]["status"] == "failed":
            break
    assert "the key *** was refused" in shown.text


def _listings(at: Gate, server: Scripted) -> None:
    """What a tool says of itself, by either way in which it is listed."""
    for number, ask in enumerate((
        lambda: at.result("tools/list"),
        lambda: list_mcp_tools(at.cast.actor("admin"), at.server),
    )):  # fmt: skip
        leaking = {**TOOL, "name": f"leak-{number}", "description": TEXT.rstrip("\0")}
        server.answers["tools/list"] = _answers({"result": {"tools": [TOOL, leaking]}})
        assert SECRET not in str(ask())
    rows = mcp_server(at.cast.actor("admin"), at.server)[1]
    texts = {row.name: (row.listed or {}).get("description") for row in rows}
    assert texts["leak-0"] == texts["leak-1"] == "the key *** was refused"


def _nothing_is_kept(at: Gate) -> None:
    """No row of any table holds it, nor does the log of the web process."""
    with connection.cursor() as cursor:
        for table in everything():
            cursor.execute(
                f'SELECT count(*) FROM "{table}" t WHERE strpos(t::text, %s) > 0',
                (SECRET,),
            )
            assert cursor.fetchone() == (0,), table
    assert SECRET not in at.site.log("web")


@pytest.mark.parametrize("secret", ["two\nlines-of-secret", "gehe\u00ecm-secret", "tab\tsecret"])
def test_a_credential_that_no_header_can_carry_is_not_sent_and_not_shown(
    real_db: str, tmp_path: Path, secret: str
) -> None:
    with (
        scripted() as server,
        gate(tmp_path, url=server.url, GATEPOST_SECRET_BROKEN=secret) as at,
    ):
        wanted = Wanted(url=server.url, credential="GATEPOST_SECRET_BROKEN")
        change_mcp_server(at.cast.actor("admin"), at.server, wanted)
        result = at.call("say", {})
        assert "can't be sent in a header" in text_of(result)
        answer = at.send("resources/read", {"uri": "note://x"})
        assert answer.status_code == 502
        for part in secret.split():
            assert part not in str(result) + answer.text + at.site.log("web")
        # It did not happen, and everybody knows: the conversation goes on.
        assert [effect.state for effect in at.effects()] == ["failed", "failed"]
        assert server.calls == []

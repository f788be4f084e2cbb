"""Who gets in at /mcp/, and bodies that nobody may store: never a failure of ours."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import uuid4

import httpx
import pytest
from django.contrib.auth import get_user_model

from checkpoints import queries, store
from dashboard.gateway.server.tools import TOOLS
from dashboard.identity import tokens
from dashboard.identity.permissions import ROLES, actor_of, may
from tests.contract.clients.bench import Server
from tests.contract.input import hostile
from tests.support.cast import PEOPLE

from .client import MODERN, connected, refused, use

pytestmark = pytest.mark.nightly
JSON = "application/json"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}


def message(method: str, **params: Any) -> dict[str, Any]:
    """A request as the protocol wants it."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}


def send(server: Server, body: Any, *, verb: str = "POST", path: str = "/mcp/", **more: str) -> Any:
    """The answer to a request that no client of the protocol has made."""
    method = body.get("method", "") if isinstance(body, dict) else "tools/call"
    headers = {
        "Authorization": f"Bearer {server.token}",
        "Content-Type": JSON,
        "Accept": f"{JSON}, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": method,
    }
    if isinstance(body, dict) and "name" in body.get("params", {}):
        headers["Mcp-Name"] = body["params"]["name"]
    headers |= {name.replace("_", "-"): value for name, value in more.items()}
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {name: value for name, value in headers.items() if value}
    return httpx.request(verb, f"{server.url}{path}", content=raw, headers=headers, timeout=30)


def test_the_address_answers_with_and_without_its_slash(server: Server) -> None:
    for path in ("/mcp", "/mcp/"):
        answer = send(server, message("server/discover"), path=path)
        assert answer.json()["result"]["capabilities"]["tools"] is not None
        assert answer.headers["Cache-Control"] == "no-store"
    assert send(server, message("server/discover"), path="/mcp/more/").status_code == 404


@pytest.mark.parametrize(
    ("authorization", "code"),
    [
        ("", 401),
        ("Bearer nonsense", 401),
        ("Bearer gp_" + "a" * 8 + "_" + "A" * 43, 401),
        ("Basic " + "x" * 20, 401),
        ("gp_" + "a" * 8, 401),
    ],
)
def test_strangers_stay_out(server: Server, authorization: str, code: int) -> None:
    answer = send(server, message("tools/list"), Authorization=authorization)
    assert answer.status_code == code
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    large = b'{"a": "' + b"x" * 20_000 + b'"}'
    answer = send(server, large, Authorization=authorization)
    assert answer.status_code == code


def test_a_login_cookie_opens_nothing(server: Server) -> None:
    answer = send(server, message("tools/list"), Authorization="", Cookie="sessionid=x")
    assert answer.status_code == 401


@pytest.mark.parametrize("verb", ["GET", "DELETE", "PUT", "OPTIONS", "PATCH"])
def test_only_a_post_is_taken(server: Server, verb: str) -> None:
    answer = send(server, message("tools/list"), verb=verb)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
def test_pages_of_other_origins_may_not_call(server: Server, origin: str) -> None:
    answer = send(server, message("tools/list"), Origin=origin)
    assert answer.status_code == 403
    assert "result" in send(server, message("tools/list"), Origin=server.url).json()


def test_a_foreign_host_is_refused(server: Server) -> None:
    assert send(server, message("tools/list"), Host="evil.example").status_code == 400


def test_a_revoked_token_is_out_at_once(server: Server) -> None:
    user = get_user_model().objects.get(username="operator")
    row, token = tokens.make(user, made_by="user:0")
    bearer = {"Authorization": f"Bearer {token}"}
    assert "result" in send(server, message("tools/list"), **bearer).json()
    tokens.revoke(row.prefix, by="user:0")
    answer = send(server, message("tools/list"), **bearer)
    assert (answer.status_code, "revoked" in answer.json()["detail"]) == (401, True)


@pytest.mark.parametrize("who", [one for one, (where, _) in PEOPLE.items() if where == "default"])
def test_each_role_sees_the_tools_that_it_may_use(server: Server, who: str) -> None:
    token = token_of(who)
    actor = actor_of(*tokens.presented(token))
    open_ones = {
        name for name, tool in TOOLS.items() if all(may(actor, right) for right in tool.rights)
    }

    async def walk() -> None:
        async with connected(server.url, token) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == open_ones
            for name in set(TOOLS) - open_ones:
                problem = await refused(client, name, **EXAMPLES[name])
                assert (name, problem["status"]) == (name, 403)

    asyncio.run(walk())


def token_of(who: str) -> str:
    """A token with all that this user may."""
    user = get_user_model().objects.get(username=who)
    return tokens.make(user, made_by="user:0", scopes=tokens.scopes_of(actor_of(user)))[1]


@pytest.fixture(scope="module")
def all_rights(server: Server) -> str:
    """A token of somebody with every role."""
    user = get_user_model().objects.create_user("everybody", password="everybody-password")
    for role in ROLES:
        store.grant(queries.default_workspace(), user.pk, role, actor="user:0")
    return token_of("everybody")


THREAD, CHECKPOINT = str(uuid4()), str(uuid4())
EXAMPLES: dict[str, dict[str, Any]] = {
    "start": {"agent": "nobody"},
    "list": {},
    "get": {"thread": THREAD},
    "events": {"thread": THREAD},
    "wait": {"thread": THREAD},
    "input": {"thread": THREAD, "message": "x"},
    "signal": {"thread": THREAD, "name": "settled", "value": 1},
    "reveal": {"thread": THREAD, "channel": "note"},
    "recall": {"q": "paid", "scope": "workspace", "limit": 3},
    "remember": {"text": "Weber is paid within 30 days.", "outside": True},
    "correct_memory": {"memory": THREAD, "text": "14 days.", "reason": "New terms"},
    "forget": {"memory": THREAD, "reason": "It is wrong"},
    "files": {"thread": THREAD},
    "read_file": {"thread": THREAD, "sha256": "0" * 64},
    "add_file": {"thread": THREAD, "name": "notes.txt", "text": "x"},
    "ask_records": {"question": "Who started the thread?", "thread": THREAD},
    "fork": {"thread": THREAD, "checkpoint": CHECKPOINT},
    "roll_back": {"thread": THREAD, "checkpoint": CHECKPOINT, "reason": "x"},
    "save_state": {"name": "x", "state": {}},
    "load_state": {"name": "x"},
    "request_approval": {"name": "x", "tool": "pay", "title": "Pay"},
    "report_outcome": {"thread": THREAD, "lease": CHECKPOINT, "tool": "pay", "state": "done"},
    "ask": {"name": "x", "question": "Why?"},
    "decide": {"approval": THREAD, "verdict": "approve", "proposal_hash": "0" * 64},
}


def poisoned(tool: str, value: str) -> bytes:
    """A call of a tool with one argument more, whose value is this JSON text."""
    params = {"name": tool, "arguments": {"poison": 0}, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    return body.replace('"poison": 0', f'"poison": {value}').encode()


@pytest.mark.parametrize("version", [MODERN, "2025-11-25", ""])
def test_values_that_nobody_may_store(server: Server, version: str) -> None:
    for what, value in hostile.POISONS.items():
        answer = send(server, poisoned("save_state", value), MCP_Protocol_Version=version)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (400, -32700), what
        assert error["data"]["path"].startswith("$"), what
    twice = poisoned("save_state", '1, "poison": 2')
    error = send(server, twice, MCP_Protocol_Version=version).json()["error"]
    assert error["data"]["path"] == "$.params.arguments.poison"


@pytest.mark.parametrize("version", [MODERN, "2025-11-25", ""])
def test_bodies_that_are_no_request(server: Server, version: str) -> None:
    bodies = [*hostile.UNREADABLE.values(), b"", *(text.encode() for text in hostile.NO_OBJECTS)]
    bodies += [
        json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": params}).encode()
        for ident in (1, "x", None, [], {})
        for method in ("tools/call", "nonsense", "", None, 7)
        for params in (None, [], {}, {"name": 7}, {"name": "get", "arguments": []}, "x")
    ]
    failed = 0
    for raw in bodies:
        answer = send(server, raw, MCP_Protocol_Version=version)
        assert answer.status_code < 500, (raw, answer.text)
        if answer.status_code >= 400:
            failed += 1
        assert "-32603" not in answer.text, (raw, answer.text)
    assert failed > 15


def test_a_body_beyond_the_limit(server: Server) -> None:
    raw = json.dumps(message("tools/call", name="save_state", arguments={"x": "y" * 6_000_000}))
    answer = send(server, raw.encode())
    assert (answer.status_code, answer.json()["path"]) == (413, "$")


@pytest.mark.parametrize("tool", sorted(EXAMPLES))
async def test_arguments_of_every_wrong_type(server: Server, all_rights: str, tool: str) -> None:
    """Each argument of each tool gets values of every type: a problem with a path, or an answer."""
    n_refused = 0
    async with connected(server.url, all_rights) as client:
        (schema,) = [
            one.input_schema for one in (await client.list_tools()).tools if one.name == tool
        ]
        values = [*hostile.VALUES, *hostile.ODD_TEXTS, "x" * 1_001]
        for name in schema["properties"]:
            if (tool, name) == ("wait", "seconds"):
                values = [one for one in values if one not in (True, 5)]  # would wait that long
            for value in values:
                arguments = {**EXAMPLES[tool], name: value}
                if tool == "wait":
                    arguments.setdefault("seconds", 1)
                result = await client.call_tool(tool, arguments)
                if result.is_error:
                    problem = result.structured_content
                    assert 400 <= problem["status"] < 500, (name, value, problem)
                    assert problem["detail"]
                    n_refused += 1
    assert n_refused > 15 * len(schema["properties"]) / 2


@pytest.fixture
def theirs(server: Server) -> str:
    """A token of somebody who has every right, elsewhere."""
    return token_of("stranger")


async def test_things_of_another_workspace_are_not_there(
    server: Server, all_rights: str, theirs: str
) -> None:
    name = str(uuid4())
    async with connected(server.url, theirs) as client:
        saved = await use(client, "save_state", name=name, state={"n": 1})
        made = await use(client, "request_approval", name=name, tool="pay", title="Pay")
    (request,) = made["approvals"]
    here = {
        "thread": saved["thread"]["id"],
        "checkpoint": saved["checkpoint"]["id"],
        "approval": request["id"],
        "proposal_hash": request["proposal_hash"],
        "name": name,
    }
    naming = [tool for tool, example in EXAMPLES.items() if {"thread", "approval"} & {*example}]
    async with connected(server.url, all_rights) as client:
        for tool in (*naming, "load_state"):
            arguments = {key: here.get(key, value) for key, value in EXAMPLES[tool].items()}
            problem = await refused(client, tool, **arguments)
            assert (tool, problem["status"]) == (tool, 404)
        listed = await use(client, "list", limit=200)
        assert here["thread"] not in {one["id"] for one in listed["results"]}
    assert len(naming) == 14

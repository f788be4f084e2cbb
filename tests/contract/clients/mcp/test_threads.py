"""Tools about threads, resources, and what the server says of itself."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from jsonschema import Draft202012Validator
from mcp.shared.exceptions import MCPError

from checkpoints import queries
from dashboard.gateway.server.tools import TOOLS
from dashboard.identity import tokens
from tests.contract.clients.bench import Server
from tests.unit.dashboard import scene
from tests.unit.workers.conftest import Bench
from tests.unit.workers.encrypted.agent import WORD, graph_of
from workers.code.registry import announce

from .client import LEGACY, MODERN, connected, read, refused, use

pytestmark = pytest.mark.nightly

# Tools of scopes that a token gets by their name alone.
NAMED_SCOPES = {"decide", "reveal", "signal", "correct_memory", "forget"}
UNKNOWN = "01a1b1c1-0000-7000-8000-000000000000"  # the same in each process of a run


@pytest.fixture(scope="module")
def agent(server: Server) -> str:
    """An agent with an inbox that no worker serves."""
    name = f"research-{uuid4().hex[:8]}"
    scene.make_agent(name, inbox="findings")
    return name


@pytest.mark.parametrize("mode", [MODERN, LEGACY])
async def test_clients_of_both_eras_find_the_same(server: Server, mode: str) -> None:
    async with connected(server.url, server.operator.token, mode) as client:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == set(TOOLS) - NAMED_SCOPES
        for tool in tools:
            assert tool.description
            for schema in (tool.input_schema, tool.output_schema):
                assert schema is not None
                Draft202012Validator.check_schema(schema)
                assert schema["type"] == "object"
        assert (await client.list_resources()).resources == []
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.name for one in templates] == ["state", "files", "file", "approval"]


def test_an_encrypted_channel_is_read_by_who_may(server: Server) -> None:
    auditor = get_user_model().objects.get(username="auditor")
    workspace = queries.default_workspace()
    thread = str(Bench(announce(graph_of(), {}, []), workspace).start(patient="A", diagnosis=WORD))
    made = tokens.make(auditor, made_by="user:0", scopes=["read", "reveal"])[1]

    async def walk() -> None:
        of_diagnosis = {"thread": thread, "channel": "diagnosis"}
        async with connected(server.url, made) as client:
            read = await use(client, "reveal", **of_diagnosis)
            assert (read["value"], read["readers"]) == (WORD, ["auditor", "admin"])
            problem = await refused(client, "reveal", thread=thread, channel="patient")
            assert problem["status"] == 404
        async with connected(server.url, server.operator.token) as client:
            assert (await refused(client, "reveal", **of_diagnosis))["status"] == 403
            assert WORD not in str(await use(client, "get", thread=thread))

    asyncio.run(walk())
    log = queries.workspace_events(workspace, limit=3).rows
    assert [e.kind for e in log if e.data.get("thread") == thread] == ["channel.revealed"]


@pytest.mark.requirement("F10")
def test_a_service_sends_a_signal_and_nothing_else(server: Server, agent: str) -> None:
    operator = get_user_model().objects.get(username="operator")
    made = tokens.make(operator, made_by="user:0", scopes=["read", "signal"])[1]
    version = queries.agent(agent, workspace=queries.default_workspace()).id
    thread = str(scene.start(queries.default_workspace(), version))

    async def walk() -> None:
        async with connected(server.url, made) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            reads = {"list", "get", "events", "wait", "files", "read_file", "load_state", "recall"}
            reads |= {"ask_records"}
            assert tools == {*reads, "signal"}
            sent = await use(client, "signal", thread=thread, name="settled", value={"n": 1})
            assert [(s["name"], s["value"]) for s in sent["signals"]] == [("settled", {"n": 1})]

    asyncio.run(walk())


async def test_a_thread_from_its_start_to_a_fork_and_a_rollback(server: Server, agent: str) -> None:
    async with connected(server.url, server.operator.token) as client:
        start = {"agent": agent, "input": {"goal": "delays"}, "name": str(uuid4())}
        made = await use(client, "start", **start, idempotency_key=str(uuid4()))
        assert await use(client, "start", **start) == await use(client, "get", thread=made["id"])
        thread = made["id"]
        listed = await use(client, "list", agent=agent, status="queued", limit=1)
        assert [one["id"] for one in listed["results"]] == [thread]
        page = await use(client, "events", thread=thread, limit=1)
        assert [one["kind"] for one in page["results"]] == ["thread.started"]
        sent = await use(client, "input", thread=thread, message="and the rain")
        assert [one["message"] for one in sent["inputs"]] == ["and the rain"]
        first = {"thread": thread, "checkpoint": sent["head"]}
        planned = await use(client, "fork", **first, changes={"goal": "weather"}, preview=True)
        assert [one["path"] for one in planned["patch"]] == ["/goal"]
        fork = await use(client, "fork", **first, changes={"goal": "weather"}, title="What if")
        assert (fork["base"], fork["title"]) == (thread, "What if")
        state = await read(client, f"gatepost://threads/{fork['id']}/state")
        assert state["state"]["goal"] == "weather"


async def test_a_rollback_is_told_before_it_is_done(server: Server, agent: str) -> None:
    async with connected(server.url, server.token) as client:
        name = str(uuid4())
        saved = [await use(client, "save_state", name=name, state={"n": n}) for n in (1, 2)]
    async with connected(server.url, server.operator.token) as client:
        target = {"thread": saved[0]["thread"]["id"], "checkpoint": saved[0]["checkpoint"]["id"]}
        plan = await use(client, "roll_back", **target, preview=True)
        assert (plan["steps"], plan["effects"]) == (1, [])
        stale = await refused(client, "roll_back", **target, reason="wrong", expected_version=0)
        assert stale["status"] == 412
        done = await use(
            client, "roll_back", **target, reason="wrong", expected_version=plan["version"]
        )
        assert (done["status"], done["number"]) == ("paused", 3)
        url = f"gatepost://threads/{target['thread']}/state"
        for uri, n in ((url, 1), (f"{url}?checkpoint={saved[1]['checkpoint']['id']}", 2)):
            assert (await read(client, uri))["state"] == {"n": n}


@pytest.mark.requirement("F11")
async def test_files_of_a_thread_are_added_listed_and_read(server: Server, agent: str) -> None:
    text = "ä" * 200_000  # two pieces, a character across their border
    async with connected(server.url, server.operator.token) as client:
        thread = (await use(client, "start", agent=agent, input={"goal": "delays"}))["id"]
        ref = await use(client, "add_file", thread=thread, name="north.txt", text="x" + text)
        listed = await use(client, "files", thread=thread)
        assert [(one["name"], one["node"]) for one in listed["stored"]] == [("north.txt", "")]
        of_file = {"thread": thread, "sha256": ref["$artifact"], "length": 262_144}
        first = await use(client, "read_file", **of_file)
        second = await use(client, "read_file", **of_file, offset=first["next_offset"])
        assert (first["text"] + second["text"], second["next_offset"]) == ("x" + text, None)
        # As resources: the list, a small file as it is, and a large one refused with the way to it.
        url = f"gatepost://threads/{thread}/files"
        assert (await read(client, url))["stored"] == listed["stored"]
        with pytest.raises(MCPError, match="read it with the tool `read_file`"):
            await client.read_resource(f"{url}/{ref['$artifact']}")
        raw = b"\x89PNG\0"
        small = await use(
            client, "add_file", thread=thread, name="a.png", base64=b64encode(raw).decode()
        )
        (contents,) = (await client.read_resource(f"{url}/{small['$artifact']}")).contents
        assert (contents.mime_type, b64decode(contents.blob)) == ("image/png", raw)
        large = b64encode(bytes(1_048_577)).decode()
        problem = await refused(client, "add_file", thread=thread, name="a", base64=large)
        assert problem["status"] == 413
        problem = await refused(client, "read_file", thread=UNKNOWN, sha256=ref["$artifact"])
        assert problem["status"] == 404


@pytest.mark.requirement("F11")
def test_a_token_that_only_reads_adds_no_file(server: Server, agent: str) -> None:
    operator = get_user_model().objects.get(username="operator")
    made = tokens.make(operator, made_by="user:0", scopes=["read"])[1]
    version = queries.agent(agent, workspace=queries.default_workspace()).id
    thread = str(scene.start(queries.default_workspace(), version))

    async def walk() -> None:
        async with connected(server.url, made) as client:
            assert "add_file" not in {tool.name for tool in (await client.list_tools()).tools}
            problem = await refused(client, "add_file", thread=thread, name="a.txt", text="x")
            assert problem["status"] == 403
            assert (await use(client, "files", thread=thread))["stored"] == []

    asyncio.run(walk())


async def test_many_wait_while_others_are_answered(server: Server, agent: str) -> None:
    """Waits hold no worker and no connection: there are more of them than either."""
    n_waits = 60
    async with connected(server.url, server.operator.token) as client:
        thread = (await use(client, "start", agent=agent, input={"goal": "delays"}))["id"]
        version = (await use(client, "get", thread=thread))["version"]
        waits = [
            asyncio.ensure_future(use(client, "wait", thread=thread, version=version, seconds=60))
            for _ in range(n_waits)
        ]
        for _ in range(20):
            assert (await use(client, "get", thread=thread))["version"] == version
        assert not any(wait.done() for wait in waits)
        await asyncio.to_thread(server.operator.post, f"/threads/{thread}/pause/", {})
        results = await asyncio.gather(*waits)
    assert {one["status"] for one in results} == {"paused"}


async def test_a_wait_ends_without_news(server: Server, agent: str) -> None:
    async with connected(server.url, server.operator.token) as client:
        made = await use(client, "start", agent=agent, input={"goal": "delays"})
        after = await use(client, "wait", thread=made["id"], seconds=1)
        assert after["version"] == made["version"]


@pytest.mark.parametrize(
    ("tool", "arguments", "path", "status"),
    [
        ("start", {"agent": "no such agent"}, "$.agent", 422),
        ("start", {}, "$.agent", 422),
        ("start", {"agent": "x", "inptu": {}}, "$.inptu", 422),
        ("get", {"thread": "17"}, "$.thread", 422),
        ("get", {"thread": str(uuid4())}, "", 404),
        ("list", {"status": "asleep"}, "status", 422),
        ("wait", {"thread": str(uuid4()), "seconds": 3600}, "$.seconds", 422),
        ("save_state", {"name": " ", "state": {}}, "$.name", 422),
        ("save_state", {"name": "x", "state": []}, "$.state", 422),
        ("load_state", {"name": "x", "number": -1}, "$.number", 422),
        ("read_file", {"thread": str(uuid4()), "sha256": "A" * 64}, "$.sha256", 422),
    ],
)
async def test_refusals_carry_the_path_of_the_api(
    server: Server, tool: str, arguments: Any, path: str, status: int
) -> None:
    async with connected(server.url, server.operator.token) as client:
        problem = await refused(client, tool, **arguments)
        assert problem["status"] == status, problem
        assert problem["path"].startswith(path)
        assert problem["detail"]


async def test_an_unknown_input_names_its_channel(server: Server, agent: str) -> None:
    async with connected(server.url, server.operator.token) as client:
        problem = await refused(client, "start", agent=agent, input={"gaol": "delays"})
        assert problem["path"] == "$.input.gaol"


@pytest.mark.parametrize(
    "uri",
    [
        "gatepost://threads/17/state",
        f"gatepost://threads/{UNKNOWN}/state",
        f"gatepost://approvals/{UNKNOWN}",
        "file:///etc/passwd",
        "gatepost://approvals/../threads/",
    ],
)
async def test_a_resource_that_is_none(server: Server, uri: str) -> None:
    async with connected(server.url, server.operator.token) as client:
        with pytest.raises(MCPError) as error:
            await client.read_resource(uri)
        assert error.value.code == -32602


async def test_a_tool_that_is_none(server: Server) -> None:
    async with connected(server.url, server.operator.token) as client:
        with pytest.raises(MCPError, match="There is no tool 'delete_everything'"):
            await client.call_tool("delete_everything", {})

"""Row 17: an allowed call through the MCP gateway against the same call without it."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from checkpoints import chain, queries

from ... import parts
from ...ground import percentile, workspace
from ...report import Measured
from ...servers import Bench

ROUNDS = 5
SECONDS = 5.0
PER_SECOND = 100
WARM = 50
# A server as authors write one; it answers one JSON message, without sessions.
UPSTREAM = """
import sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("bench")

@server.tool()
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]),
           json_response=True, stateless_http=True)
"""
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "add",
}


@contextmanager
def upstream() -> Iterator[str]:
    """The server in a process of its own; its address."""
    port = parts.free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", UPSTREAM, str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def answers() -> bool:
        try:
            httpx2.get(f"http://127.0.0.1:{port}/", timeout=2)
        except httpx2.TransportError:
            return False
        return True

    try:
        parts.wait_until(answers, seconds=60, what="an answer of the MCP server")
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def enter(url: str) -> str:
    """Add the server, accept its tools, make a policy that does not match; a token for calls."""
    from django.contrib.auth import get_user_model

    from approvals.policies.drafts import Draft
    from checkpoints import store
    from dashboard.administration.mcp_servers import (
        ACCEPT,
        ADD,
        TOOLS,
        AcceptMcpTools,
        AddMcpServer,
    )
    from dashboard.administration.policies import make_policy
    from dashboard.identity import tokens
    from dashboard.identity.permissions import actor_of
    from dashboard.kit.shapes.requests import Nothing

    users = {}
    for name, role in (("caller", "operator"), ("keeper", "admin")):
        user = get_user_model().objects.create_user(f"{name}-{url}"[:140], password="bench bench 1")
        store.grant(workspace(), user.pk, role, actor="bench:1")
        users[name] = user
    admin = actor_of(users["keeper"])
    make_policy(admin, Draft("Mails", "tool == 'send_mail'"))
    server = ADD.run(admin, AddMcpServer(name="bench", url=url)).id
    TOOLS.run(admin, Nothing(), server)
    ACCEPT.run(admin, AcceptMcpTools(), server)
    return tokens.make(users["caller"], made_by="bench:1", scopes=["work"])[1]


async def calls(url: str, count: int, headers: dict[str, str]) -> list[float]:
    """Milliseconds of each of so many calls, one begun every 10 ms."""
    results: list[float] = []

    async def call(client: httpx2.AsyncClient, number: int) -> None:
        body = {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": "add", "arguments": {"a": number, "b": 1}, "_meta": META},
        }
        began = time.perf_counter()
        response = await client.post(url, json=body)
        results.append((time.perf_counter() - began) * 1000)
        if f'"{number + 1}"' not in response.text:
            raise RuntimeError(f"{url} answered {response.status_code}: {response.text[:300]}")

    limits = httpx2.Limits(max_keepalive_connections=100)
    async with (
        httpx2.AsyncClient(headers=HEADERS | headers, limits=limits, timeout=20) as client,
        asyncio.TaskGroup() as group,
    ):
        begins = time.perf_counter()
        for number in range(count):
            await asyncio.sleep(begins + number / PER_SECOND - time.perf_counter())
            group.create_task(call(client, number))
    return results


def measure(bench: Bench, scale: float) -> Measured:
    """Rounds in turn, straight and through the gateway; then the record is counted and verified."""
    count = max(20, round(SECONDS * PER_SECOND * scale))
    direct: list[list[float]] = []
    through: list[list[float]] = []
    with parts.web(bench) as port, upstream() as url:
        token = enter(url)
        address = f"http://127.0.0.1:{port}/mcp/bench/"
        bearer = {"authorization": f"Bearer {token}"}
        asyncio.run(calls(url, WARM, {}))
        asyncio.run(calls(address, WARM, bearer))
        for _ in range(ROUNDS):
            direct.append(asyncio.run(calls(url, count, {})))
            through.append(asyncio.run(calls(address, count, bearer)))
    sent = WARM + ROUNDS * count
    recorded = 0
    selection = queries.Selection(agent="mcp:bench")
    for thread in queries.threads(selection, workspace=workspace(), limit=100).rows:
        done = queries.step_activities(thread.id, branch=0, step=1)
        if chain.verify_thread(thread.id).intact:
            recorded += sum(one.state == "done" for one in done)
    if recorded != sent:
        raise RuntimeError(f"{sent} calls were sent and {recorded} are on record")
    figures: dict[str, Any] = {}
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        figures[f"direct_{name}"] = statistics.median(percentile(r, share) for r in direct)
        figures[f"gateway_{name}"] = statistics.median(percentile(r, share) for r in through)
    return Measured(
        {
            "more_p50": figures["gateway_p50"] - figures["direct_p50"],
            "more_p99": figures["gateway_p99"] - figures["direct_p99"],
        },
        baselines={"more_p50": figures["direct_p50"], "more_p99": figures["direct_p99"]},
        details={"calls": sent, "per_second": PER_SECOND},
    )

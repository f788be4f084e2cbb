"""The SDK's client, signed in by a token."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent, TextResourceContents

MODERN, LEGACY = "2026-07-28", "legacy"


@asynccontextmanager
async def connected(url: str, token: str, mode: str = "auto") -> AsyncIterator[Client]:
    """A client of the server at `url`, until the end of the block."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=90) as http:
        transport = streamable_http_client(f"{url}/mcp/", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


async def use(client: Client, tool: str, /, **arguments: Any) -> Any:
    """What a tool answers; the client compares it with the schema that the tool announces."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert json.loads(text_of(result)) == result.structured_content
    return result.structured_content


async def refused(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """The problem that a tool answers."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    problem: dict[str, Any] = result.structured_content
    assert text_of(result) == f"{problem['title']}. {problem['detail']}"
    return problem


def text_of(result: CallToolResult) -> str:
    """The one text of a result."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def read(client: Client, uri: str) -> Any:
    """The JSON of a resource."""
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    return json.loads(contents.text)

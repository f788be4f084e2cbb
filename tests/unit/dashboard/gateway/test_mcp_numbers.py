"""Numbers on the pages of MCP servers, computed a second way by SQL."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.urls import reverse

from dashboard.gateway.registry import changes
from dashboard.gateway.registry.changes import Wanted
from tests.support.cast import Cast
from tests.unit.dashboard.gateway import listing
from tests.unit.dashboard.gateway.servers import accept_mcp_tools, add_mcp_server

pytestmark = pytest.mark.django_db
TO_ACCEPT = "SELECT count(*) FROM gp_mcp_tool WHERE server_id = %s AND accepted_hash <> listed_hash"


def test_every_number_of_the_pages(cast: Cast) -> None:
    """Servers with no tool, with new ones, and with changed ones beside an accepted one."""
    admin = cast.actor("admin")
    servers = {}
    for name, listed, changed in (("bare", 0, 0), ("fresh", 3, 0), ("moved", 4, 1)):
        row = add_mcp_server(admin, name, Wanted(url=listing.address()))
        tools = [listing.TOOL | {"name": f"tool-{number}"} for number in range(listed)]
        changes.note_listed(row, tools, actor="user:0")
        if changed:
            accept_mcp_tools(admin, row.id, None)
            others = [tool | {"description": "Other."} for tool in tools[:changed]]
            changes.note_listed(row, [*others, *tools[changed:]], actor="user:0")
        servers[name] = row.id
    client = cast.client("admin")
    page = client.get(reverse("admin:mcp_servers")).content.decode()
    entries = dict(
        zip(sorted(servers), re.findall(r'(?s)<li class="policy.*?</li>', page), strict=True)
    )
    numbers = {}
    for name, server in servers.items():
        with connection.cursor() as cursor:
            cursor.execute(TO_ACCEPT, (server,))
            (numbers[name],) = cursor.fetchone()
        assert f">{name}<" in entries[name]
        detail = client.get(reverse("admin:mcp_server", args=[server])).content.decode()
        for html, pattern in (
            (entries[name], r"(\d+) tools? to accept"),
            (detail, r"(\d+)\s+to accept"),
        ):
            shown = re.search(pattern, html)
            assert (int(shown[1]) if shown else 0) == numbers[name], name
    assert numbers == {"bare": 0, "fresh": 3, "moved": 1}

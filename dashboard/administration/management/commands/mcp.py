"""`./manage.py mcp ...`: MCP servers behind the gateway, and what their tools may do."""

from __future__ import annotations

from dashboard.administration.mcp_servers import VERBS
from dashboard.kit.terminal.console import VerbsCommand


class Command(VerbsCommand):
    """MCP servers."""

    help = "Adds MCP servers behind the gateway, accepts their tools, says what each may do."
    examples = """
        mcp add github --url https://example.org/mcp --credential GATEPOST_SECRET_GITHUB
        mcp tools github
        mcp accept github
        mcp mode github delete_repo ask
    """
    verbs = VERBS

"""The tables of the top floor whose rows the log of the workspace records."""

from checkpoints.log import recorded

from .models import Identity, McpServer, McpTool, Token


def register() -> None:
    """Put them on record."""
    recorded.register(
        Token,
        noun="token",
        label="prefix",
        secrets=("secret_hash",),
        # Noted once a minute while it is in use.
        leaves_out=("last_used_at",),
    )
    recorded.register(Identity, noun="identity", label="subject")
    recorded.register(McpServer, noun="MCP server", label="name")
    recorded.register(McpTool, noun="MCP tool", label="name")

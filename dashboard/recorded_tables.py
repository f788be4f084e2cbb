"""The tables of the top floor whose rows the log of the workspace records."""

from checkpoints.log import recorded

from .models import (
    AccessChange,
    Identity,
    McpServer,
    McpTool,
    Passkey,
    SavedView,
    SecondFactor,
    Token,
)


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
    # What was asked for may hold an address or the hash of a password.
    recorded.register(AccessChange, noun="change of access", label="name", secrets=("change",))
    recorded.register(
        SecondFactor,
        noun="second factor",
        label="user_id",
        secrets=("secret", "recovery"),
        # Moves with each code of the app; what it forbids is a code of the last minute.
        leaves_out=("last_period",),
    )
    recorded.register(
        Passkey,
        noun="passkey",
        label="user_id",
        # What a person calls their devices is no matter of a log for ever.
        secrets=("name", "credential_id", "credential"),
        # Move with each use; what they refuse is a copy, and the challenge of the last use.
        leaves_out=("sign_count", "last_challenge", "last_used_at"),
    )
    recorded.register(McpServer, noun="MCP server", label="name")
    recorded.register(McpTool, noun="MCP tool", label="name")
    # By their hashes: what somebody looks for, and calls it, is no matter of a log for ever.
    recorded.register(SavedView, noun="saved view", label="owner", secrets=("name", "address"))

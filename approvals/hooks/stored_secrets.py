"""The encrypted columns of hooks and endpoints, and reading them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from uuid import UUID

import structlog

from checkpoints.encryption.columns import EncryptedColumn, register
from checkpoints.errors import CannotDecrypt

log = structlog.get_logger("gatepost.encryption")
HOOK_SECRETS: Final = EncryptedColumn("gp_hook", "secrets", listed=True)
ENDPOINT_SECRETS: Final = EncryptedColumn("gp_endpoint", "secrets", listed=True)
ENDPOINT_ADDRESS: Final = EncryptedColumn("gp_endpoint", "address")


def readable_secrets(stored: Iterable[str], hook: UUID) -> tuple[str, ...]:
    """The secrets of a hook that this process has the keys for; the log says which it has not."""
    results = []
    for text in stored:
        try:
            results.append(HOOK_SECRETS.decrypt(text, hook))
        except CannotDecrypt as error:
            log.error("hook.secret_unreadable", hook=str(hook), error=error.message)
    return tuple(results)


def register_columns() -> None:
    """Let `encryption rotate` know them."""
    for column in (HOOK_SECRETS, ENDPOINT_SECRETS, ENDPOINT_ADDRESS):
        register(column)

"""Checks of stored secrets: under keys of their own, and all under the newest of them."""

from __future__ import annotations

from collections.abc import Iterator

from checkpoints import store
from checkpoints.encryption.keys import key_ring
from gatepost_command import COMMAND

from .findings import Finding, Seen, ok, warning, wrong


def keys(_seen: Seen) -> Iterator[Finding]:
    """A change of the secret key must not lose what is stored, and the reverse."""
    if key_ring()[0].derived:
        yield wrong(
            "encryption keys",
            "none: stored secrets are under a key that is derived from the secret key",
            f"Call `{COMMAND} encryption new-key`, set GATEPOST_ENCRYPTION_KEYS for every process, "
            f"then call `{COMMAND} encryption rotate`.",
        )
    else:
        count = len(key_ring()) - 1
        yield ok("encryption keys", "1 key" if count == 1 else f"{count} keys")


def stored(_seen: Seen) -> Iterator[Finding]:
    """Every stored secret can be read, and none waits for the newest key."""
    counted = store.stored_secrets()
    if counted.unreadable:
        yield wrong(
            "stored secrets",
            f"{counted.unreadable} cannot be decrypted with the keys of this process",
            "Add the missing key to GATEPOST_ENCRYPTION_KEYS, or give these hooks and endpoints "
            "other secrets and addresses.",
        )
    waiting = counted.older + counted.plain
    if waiting:
        yield warning(
            "stored secrets",
            f"{counted.plain} not encrypted, {counted.older} under an older key",
            f"Call `{COMMAND} encryption rotate`.",
        )
    if not (counted.unreadable or waiting):
        yield ok("stored secrets", f"{counted.total} under the newest key")

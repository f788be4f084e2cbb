"""Words of hooks that decide in a person's name without that person's confirmation."""

from __future__ import annotations

from collections.abc import Iterator

from approvals.hooks.changes import unconfirmed

from .findings import Finding, Seen, ok, warning

NAME = "outside identities"


def confirmed(_seen: Seen) -> Iterator[Finding]:
    """Each word that counts was confirmed by its person; older ones count until they are asked."""
    n = unconfirmed()
    if n:
        yield warning(
            NAME,
            f"{n:,} from before confirmation was asked decide without it",
            "Ask their people to confirm them under /access/, or map them again.",
        )
    else:
        yield ok(NAME, "each that counts was confirmed by its person")

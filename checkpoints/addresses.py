"""The address of a thread's page, and of a moment of its past: the one place that writes it."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse


def thread_address(
    thread: UUID, *, checkpoint: UUID | int | None = None, event: int | None = None
) -> str:
    """The page of a thread; as of a checkpoint (its id or number), or with an event opened."""
    query: dict[str, object] = {}
    if checkpoint is not None:
        query["cp"] = checkpoint
    if event is not None:
        query["event"] = event
    address = reverse("thread", args=[thread])
    if query:
        address += f"?{urlencode(query)}"
    return address if event is None else f"{address}#event-{event}"

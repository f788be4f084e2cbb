"""Checks of outgoing anchors: each destination has confirmed one lately."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings

from approvals.anchors import sender
from checkpoints.anchors.destinations import standings
from dashboard.wording.text import span
from gatepost_command import COMMAND

from .findings import Finding, Seen, note, ok, wrong

NAME = "anchors"


def arrive(_seen: Seen) -> Iterator[Finding]:
    """Anchors arrive: else nothing outside shows that the end of the record was cut off."""
    if not settings.GATEPOST_ANCHORS:
        yield note(NAME, "go nowhere by themselves", "Set GATEPOST_ANCHORS: docs/howto/anchors.md.")
        return
    late = {one.name: one for one in sender.late()}
    known = {one.name: one for one in standings([d.name for d in settings.GATEPOST_ANCHORS])}
    for destination in settings.GATEPOST_ANCHORS:
        row = known.get(destination.name)
        if row is None:
            yield note(NAME, f"{destination.name}: not tried yet", "A worker begins with it.")
        elif destination.name in late:
            yield wrong(
                NAME,
                f"{destination.name}: {late[destination.name].in_words}",
                f"Fix it, then call `{COMMAND} anchor --send`.",
            )
        elif row.acknowledged:
            ago = span(row.gap_seconds)
            yield ok(NAME, f"{destination.name}: number {row.acknowledged}, {ago} ago")
        else:
            yield note(NAME, f"{destination.name}: none yet", row.error or "Try again soon.")

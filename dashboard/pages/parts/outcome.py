"""The outcome of a succeeded thread: its effects, in the words of its tools."""

from __future__ import annotations

from collections.abc import Iterable

from checkpoints.views import ActivityRow


def outcomes(activities: Iterable[ActivityRow]) -> list[ActivityRow]:
    """Effects that were done and that nobody undid, in the order of `activities`."""
    return [row for row in activities if row.kind == "effect" and row.state == "done"]

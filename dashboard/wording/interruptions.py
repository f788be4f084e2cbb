"""What a change that takes a thread away interrupts, in the words that people read before it."""

from __future__ import annotations

from collections.abc import Iterable

from checkpoints.states import Status
from checkpoints.views import ActivityRow, ThreadRow


def interrupted(thread: ThreadRow, activities: Iterable[ActivityRow]) -> str:
    """What is under way and would be lost or unknown; empty where nothing is."""
    said = []
    if thread.status is Status.RUNNING and thread.next_nodes:
        said.append(f"What {' and '.join(thread.next_nodes)} is doing now is thrown away.")
    tools = [a.tool for a in activities if a.kind == "effect" and a.state == "started"]
    if tools:
        names, many = " and ".join(dict.fromkeys(tools)), len(tools) > 1
        have, they = ("have", "they") if many else ("has", "it")
        said.append(f"{names} {have} started: whether {they} happened will be unknown.")
    return " ".join(said)

"""Warnings about what a change of a thread interrupts and whom it affects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from checkpoints.states import Status
from checkpoints.views import ActivityRow, ThreadRow

from .sentences import LOOKS, look


def interrupted(thread: ThreadRow, activities: Iterable[ActivityRow]) -> str:
    """Describe the work in progress that would be lost or unknown; empty if there is none."""
    messages = []
    if thread.status is Status.RUNNING and thread.next_nodes:
        messages.append(f"The current work of {' and '.join(thread.next_nodes)} is discarded.")
    tools = [a.tool for a in activities if a.kind == "effect" and a.state == "started"]
    if tools:
        names, many = " and ".join(dict.fromkeys(tools)), len(tools) > 1
        have, they = ("have", "they") if many else ("has", "it")
        messages.append(f"{names} {have} started: whether {they} happened will be unknown.")
    return " ".join(messages)


def children_words(counts: Mapping[str, int]) -> str:
    """“7 children: 5 running, 2 waiting” of how many there are in each status; "" for none."""
    total = sum(counts.values())
    if not total:
        return ""
    order = (*LOOKS, "held")
    parts = [(counts[status], look(status).word.lower()) for status in order if counts.get(status)]
    if total == 1:
        return f"1 child, {parts[0][1]}"
    if len(parts) == 1:
        return f"{total:,} children, all {parts[0][1]}"
    return f"{total:,} children: {', '.join(f'{n:,} {word}' for n, word in parts)}"

"""Check that agents which work elsewhere come for their threads and keep their leases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkpoints import queries
from dashboard.wording.text import span

from .findings import Finding, Seen, note, ok, warning

NAME: Final = "agents elsewhere"
WAITING_WARNING: Final = 900.0


def come(_seen: Seen) -> Iterator[Finding]:
    """Healthy is: no thread waits for long, and each program renews its lease."""
    elsewhere = queries.external_work()
    healthy = True
    if elsewhere.waiting_seconds > WAITING_WARNING:
        healthy = False
        yield warning(
            NAME,
            f"{_threads(elsewhere.waiting)} for their programs, the first for "
            f"{span(elsewhere.waiting_seconds)}",
            "Start the program, or let a webhook do it: docs/howto/external-agents.md#5-killed.",
        )
    if elsewhere.silent:
        healthy = False
        yield note(
            NAME,
            f"{elsewhere.silent:,} have a lease that ran out: their programs fell silent",
            "The program that is started next takes them over where they were left.",
        )
    if not healthy:
        return
    if not elsewhere.agents:
        yield ok(NAME, "none")
    else:
        many = "1 agent" if elsewhere.agents == 1 else f"{elsewhere.agents:,} agents"
        shown = f"{many}, {elsewhere.working:,} threads under a lease"
        waiting = f", {elsewhere.waiting:,} wait for a program" if elsewhere.waiting else ""
        yield ok(NAME, f"{shown}{waiting}")


def _threads(count: int) -> str:
    return "1 thread waits" if count == 1 else f"{count:,} threads wait"

"""Threads of the shipped agents as they really run, advanced in this process."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from checkpoints.states import Status
from tests.unit.workers.conftest import Bench
from workers.code.registry import load


def benches(workspace: UUID, *modules: str) -> dict[str, Bench]:
    """{agent: a bench for it} of these modules."""
    return {name: Bench(agent, workspace) for name, agent in load(list(modules)).items()}


def finished(bench: Bench, **values: Any) -> UUID:
    """A thread of an agent whose requests are all approved, at its end."""
    thread = bench.start(**values)
    row = bench.advance(thread)
    while row.status is Status.WAITING:
        bench.decide(thread, "approve", "fine")
        row = bench.advance(thread)
    assert row.status is Status.SUCCEEDED, (row.status, row.status_reason)
    return thread

"""Answers about threads that are stuck."""

from __future__ import annotations

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import Field

from checkpoints import queries
from checkpoints.queries.search.stuck import StuckCount
from dashboard.documents.state_shape import Shape


class StuckThread(Shape):
    """A thread that is stuck, and what helps."""

    thread: UUID
    title: str
    status: str
    agent: str
    node: str
    rule: str = Field(description="attention, queue, lease, silent, repeats or person")
    since: datetime
    reason: str
    next_action: str

    @classmethod
    def of(cls, row: queries.StuckThread) -> Self:
        """A row of the list."""
        return cls(
            thread=row.thread,
            title=row.title,
            status=row.status,
            agent=row.agent,
            node=row.stuck.node,
            rule=row.stuck.rule,
            since=row.stuck.since,
            reason=row.stuck.reason,
            next_action=row.stuck.action,
        )


class StuckAnswer(Shape):
    """Numbers of stuck threads by agent and node, and those that have been so longest."""

    total: int
    counts: list[StuckCount] = Field(description="most first; at most 200 groups")
    results: list[StuckThread] = Field(description="those that have been stuck longest, first")

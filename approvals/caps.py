"""What a thread, an agent, a workspace may spend before it pauses."""

from __future__ import annotations

from uuid import UUID


def over(*, workspace: UUID, thread: UUID, agent: str) -> str:
    """Why nothing more may be spent now, in a sentence; empty while every cap leaves room."""
    return ""

"""What is kept of an agent's threads, in words."""

from __future__ import annotations

from checkpoints.durabilities import EPHEMERAL, HOT
from checkpoints.views import AgentRow

from .text import span


def durability_words(agent: AgentRow) -> str:
    """The durability of an agent and what it means."""
    if agent.durability == EPHEMERAL:
        return (
            f"{EPHEMERAL}: nothing is kept after a turn but the start, the end and totals; the "
            f"state stays in memory for {span(agent.ttl)}"
        )
    if agent.durability == HOT:
        return f"{HOT}: steps reach the database behind the thread"
    return f"{agent.durability}: every step is kept"

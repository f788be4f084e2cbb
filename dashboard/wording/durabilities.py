"""What is kept of an agent's threads, in words."""

from __future__ import annotations

from checkpoints.durabilities import DURABLE, EPHEMERAL, EVERYSEC, HOT, MAY_LOSE
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
        return f"{HOT}: {acknowledge_words(agent)}"
    return f"{agent.durability}: every step is kept"


def acknowledge_words(agent: AgentRow) -> str:
    """The place of a step of a hot agent when it is acknowledged, and what may be lost then."""
    if agent.acknowledge == DURABLE:
        return "small steps are acknowledged in the database, several in one commit"
    if agent.acknowledge == EVERYSEC:
        return (
            "steps are acknowledged in the hot store, which flushes once a second, and reach the "
            f"database behind the thread. {MAY_LOSE}"
        )
    return (
        "steps are acknowledged on the disk of the hot store, and reach the database behind the "
        "thread"
    )

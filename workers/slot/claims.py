"""Which threads this worker takes: its own code's first, others only where nobody knows better.

While old and new code work side by side, a worker that lacks the code of a thread leaves it to one
that has it and rings that one's own queue. Only where no live worker has it does the thread meet
other code: then its agent's rule decides, or a person. A pinned thread waits for its own code.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from uuid import UUID

import structlog

from checkpoints import leases, queries
from checkpoints.durabilities import EPHEMERAL
from checkpoints.ephemeral import copies
from checkpoints.errors import ContentAway
from checkpoints.leases import Code
from checkpoints.queries.installation.live_code import Serving, Takeable
from checkpoints.records import Work
from checkpoints.states import Status

from ..broker.receivers import ring, ring_at
from ..step.ledger import load_queries
from ..step.step import Agent

log = structlog.get_logger("gatepost.worker")


def code_of(agents: Mapping[str, Agent]) -> Code:
    """The agents and versions of this worker."""
    return Code([v for agent in agents.values() for v in agent.versions], tuple(agents))


def take(thread: UUID, *, owner: str, agents: Mapping[str, Agent]) -> Work | None:
    """The lease of a thread that this worker is the right one for; None else.

    The usual thread, of code that is installed here, costs no look around.
    """
    code = code_of(agents)
    own = leases.acquire(thread, owner=owner, code=code, along=load_queries(thread))
    own = own or leases.take_over(thread, owner=owner, code=code)
    own = own or _for_messages(thread, owner=owner, agents=agents)
    if own is not None:
        return own
    other = queries.takeable(thread)
    if other is None or other.version in code.versions:
        return None
    better = _better(other, queries.serving(other.queue), code)
    if better is not None:
        log.info("thread.left", thread=str(thread), agent=other.agent, to=better.worker)
        ring_at(better.worker, thread_id=thread)
        return None
    if other.pinned:
        return None
    any_other = Code(code.versions, code.agents, any_other=True)
    result = leases.acquire(thread, owner=owner, code=any_other)
    return result or leases.take_over(thread, owner=owner, code=any_other)


def _for_messages(thread: UUID, *, owner: str, agents: Mapping[str, Agent]) -> Work | None:
    """The lease of an ephemeral thread at rest for which messages wait in memory.

    Whatever code it had before: such a thread continues with the code that is there.
    """
    ephemeral = [a for a in agents.values() if a.graph.durability == EPHEMERAL]
    if not ephemeral:
        return None
    try:
        if not copies.count_messages(thread):
            return None
    except ContentAway:
        return None  # the sweep rings again
    names = [agent.graph.name for agent in ephemeral]
    return leases.continue_thread(thread, owner=owner, agents=names)


def ring_for_messages(work: Work, agents: Mapping[str, Agent]) -> None:
    """Ring for messages that came while the thread was at work and are not taken."""
    agent = agents.get(work.agent)
    if agent is None or agent.graph.durability != EPHEMERAL:
        return
    with suppress(ContentAway):
        if work.status is not Status.QUEUED and copies.count_messages(work.thread):
            ring(thread_id=work.thread, queue=agent.graph.queue)


def _better(other: Takeable, alive: list[Serving], code: Code) -> Serving | None:
    """The better worker for it: one with the same code, else one that knows the agent."""
    same = next((s for s in alive if s.version == other.version), None)
    if same is not None or other.pinned or other.agent in code.agents:
        return same
    return next((s for s in alive if s.agent == other.agent), None)

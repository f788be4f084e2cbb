"""The limit of steps: a graph that goes round without anything from outside stops at it."""

from __future__ import annotations

from checkpoints.records import Work

from ..authoring.graph import Graph
from ..step.ledger import Ledger


class StepLimit:
    """Counts a leased thread's steps since the last thing from outside, by its own record.

    The record is asked when the thread could have come to the limit, so a lease of fewer steps
    costs no query.
    """

    def __init__(self, graph: Graph) -> None:
        self._limit = graph.max_steps
        self._look_at = graph.max_steps or 0

    def leave_if_reached(self, work: Work, ledger: Ledger) -> bool:
        """Leave a thread at its limit to a person, who may let it take as many again."""
        limit = self._limit
        if limit is None or work.step < self._look_at:
            return False
        taken = ledger.steps_since_outside(work, at_most=limit)
        if taken < limit:
            self._look_at = work.step + limit - taken
            return False
        ledger.stop_at_step_limit(work, step_limit_sentence(limit, work.next_nodes))
        return True


def step_limit_sentence(limit: int, nodes: tuple[str, ...]) -> str:
    """Explain that a thread stops at its limit, and what can be done."""
    return (
        f"{limit:,} steps since the last message, decision, timer or click, which is the limit of "
        f"this agent (max_steps); next is {' and '.join(nodes)}. If it may be in an endless "
        f"loop, cancel it or edit its state. Retry allows {limit:,} more."
    )

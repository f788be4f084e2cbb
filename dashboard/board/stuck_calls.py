"""Threads that are stuck: how many by agent and node, and which."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints import queries
from dashboard.board.stuck_answers import StuckAnswer, StuckThread
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.api.parameters import LIMIT_MAX, rows, words

LIMIT = rows(LIMIT_MAX)


class StuckThreads(MemberView):
    """Threads that are stuck."""

    @extend_schema(
        operation_id="threads_stuck",
        responses={200: StuckAnswer, **refusals(422)},
        parameters=[
            words("agent", "The name of an agent."),
            words("node", "The name of the node at which they are stuck."),
            LIMIT,
        ],
        summary="How many threads are stuck, and where",
        description="Stuck is what needs attention, has recorded nothing for far longer than its "
        "node usually takes, sends no heartbeat, is taken by no worker, makes the same call again "
        "and again, or waits for a person beyond the usual time.",
    )
    def get(self, request: Request) -> Response:
        """Counts by agent and node, most first; the threads that have been stuck longest."""
        workspace, agent, node = self.actor.workspace, self.text("agent"), self.text("node")
        counts = queries.stuck_counts(workspace=workspace, agent=agent, node=node)
        results = queries.stuck_threads(
            workspace=workspace, agent=agent, node=node, limit=self.limit(LIMIT)
        )
        return answer(
            StuckAnswer(
                total=counts.total,
                counts=list(counts.groups),
                results=[StuckThread.of(row) for row in results],
            )
        )

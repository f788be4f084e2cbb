"""The past of a thread for an agent that works elsewhere, which may continue from any point."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.external.answers import RecordedPast
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.api.parameters import rows, whole

from . import next_steps

START = whole("start", "The number of the first checkpoint; else 0.", high=2**31 - 1)
LIMIT = rows(200)


class RecordOfThread(MemberView):
    """The record of a thread."""

    @extend_schema(
        operation_id="external_record_read",
        parameters=[START, LIMIT],
        responses={200: RecordedPast, **refusals(404, 422)},
        summary="What each checkpoint changed and what was recorded after it, oldest first",
        description="Folded in their order, the deltas give the state at each checkpoint. A page "
        "ends early once its deltas hold 2 MiB. The past that a fork shares with its base is "
        "with the base: `parent_thread` of the first checkpoint.",
    )
    def get(self, request: Request, thread_id: UUID) -> Response:
        """The thread's own checkpoints, those that were left by a rollback as well."""
        row, points, activities = next_steps.record_of(
            self.actor, thread_id, start=self.number(START, 0), limit=self.limit(LIMIT)
        )
        return answer(RecordedPast.of(row, points, activities))

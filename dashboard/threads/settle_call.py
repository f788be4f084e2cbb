"""The answer of a person to what a thread asks about one effect."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.api.shapes.previews import SecondPersonAsked
from dashboard.api.shapes.rows import ThreadDetail
from dashboard.kit.api.base import MemberView
from dashboard.kit.api.parameters import IF_MATCH
from dashboard.threads.settle import Settle, settle
from dashboard.threads.thread_list import REFUSED, detail


class SettleThread(MemberView):
    """Answer what a thread asks about an effect."""

    changes = "settle"

    @extend_schema(
        operation_id="threads_settle",
        request=Settle,
        responses={200: ThreadDetail, 202: SecondPersonAsked, **REFUSED},
        parameters=[IF_MATCH],
        summary="Settle an effect whose thread needs attention",
        description="409 when the thread does not ask about this effect, with the first answer "
        "where somebody else gave it. `undo` and `undo_again`: a worker calls the tool's undo.",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """attention -> queued, or rolling_back while a worker undoes."""
        body = self.body(Settle)
        settle(
            self.actor,
            thread_id,
            body.activity,
            body.verdict,
            body.result,
            body.reason,
            expected_version=self.expected_version(),
        )
        return detail(self, thread_id)

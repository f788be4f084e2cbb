"""Which code goes on with a thread whose agent changed."""

from __future__ import annotations

from uuid import UUID

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard import actions

from .asked import ChooseCode
from .base import Door
from .shapes import ThreadDetail
from .threads import IF_MATCH, REFUSED, detail


class CodeThread(Door):
    """The code of a thread."""

    changes = "code"

    @extend_schema(
        operation_id="threads_code",
        request=ChooseCode,
        responses={200: ThreadDetail, 201: ThreadDetail, **REFUSED},
        parameters=[IF_MATCH],
        summary="Pin, accept, fork or unpin when the agent's code changed",
        description="`code_choices` of the thread says what is possible now. `fork` answers 201 "
        "with the new thread and needs the right to fork.",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """200: this thread; 201: the fork that goes on with the new code."""
        choice = self.body(ChooseCode).choice
        found = actions.choose_code(
            self.actor, thread_id, choice, expected_version=self.expected_version()
        )
        if found == thread_id:
            return detail(self, thread_id)
        return detail(self, found, status=201, Location=reverse("api:thread", args=[found]))

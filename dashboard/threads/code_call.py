"""Choose the code with which a thread continues whose agent changed."""

from __future__ import annotations

from uuid import UUID

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints import queries
from dashboard.identity.permissions import require
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.api.parameters import IF_MATCH
from dashboard.threads.code import ChooseCode, ChooseCodeMany, choose_code, choose_code_many
from dashboard.threads.code_changes import ChosenMany, CodeChanges
from dashboard.threads.page.code_question import alike, changed_parts
from dashboard.threads.thread_list import REFUSED, detail
from dashboard.threads.thread_shapes import ThreadDetail


class CodeThread(MemberView):
    """The code of a thread."""

    changes = "code"

    @extend_schema(
        operation_id="threads_code_changes",
        responses={200: CodeChanges, **refusals(403, 404)},
        summary="What changed in the code that is offered to a thread, by function",
    )
    def get(self, request: Request, thread_id: UUID) -> Response:
        """Old and new text of each part, and the threads that ask the very same."""
        require(self.actor, "code")
        row = queries.thread(thread_id, workspace=self.actor.workspace)
        return answer(CodeChanges.from_row(changed_parts(row), alike(self.actor, row)))

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
        """200: this thread; 201: the fork that continues with the new code."""
        choice = self.body(ChooseCode).choice
        result = choose_code(
            self.actor, thread_id, choice, expected_version=self.expected_version()
        )
        if result == thread_id:
            return detail(self, thread_id)
        return detail(self, result, status=201, Location=reverse("api:thread", args=[result]))


class CodeThreads(MemberView):
    """The code of many threads."""

    changes = "code"
    # Each choice is a transaction of its own, and a second one is refused anyway.
    keyed = False

    @extend_schema(
        operation_id="threads_code_many",
        request=ChooseCodeMany,
        responses={200: ChosenMany, **refusals(403, 422)},
        summary="Pin, accept, fork or unpin several threads, each separately",
    )
    def post(self, request: Request) -> Response:
        """One result per thread, in their order; one that is refused stops no other."""
        body = self.body(ChooseCodeMany)
        return answer(ChosenMany.from_row(choose_code_many(self.actor, body.threads, body.choice)))

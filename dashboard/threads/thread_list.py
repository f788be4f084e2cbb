"""Threads: list, start, one of them, and control."""

from __future__ import annotations

from uuid import UUID

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from approvals import queries as gates
from checkpoints import queries
from checkpoints.views import VerificationRow
from dashboard.fields.filters import CALL, given_at, read
from dashboard.fields.thread_filters import THREADS, selection_of
from dashboard.kit.api.base import PREVIEW, TRACEPARENT, MemberView, answer, refusals
from dashboard.kit.api.parameters import IF_MATCH, LIMIT_MAX, rows, words
from dashboard.kit.filters import call_parameters
from dashboard.kit.shapes.previews import SecondPersonAsked
from dashboard.kit.shapes.requests import Nothing
from dashboard.threads.answers import thread_detail
from dashboard.threads.cancel import Cancel, CancelAnswer, CancelPreview, cancel, preview_cancel
from dashboard.threads.edit import Edit, EditAnswer, EditPreview, edit, preview_edit
from dashboard.threads.fork import Fork, ForkPreview, fork, fork_point, preview_fork
from dashboard.threads.roll_back import RollBack, RollBackPreview, preview_roll_back, roll_back
from dashboard.threads.start import StartThread, start_or_continue
from dashboard.threads.target import refuse_preview
from dashboard.threads.thread_shapes import Counts, Thread, ThreadDetail, ThreadList
from dashboard.threads.verify import verify
from gatepost_command import COMMAND

FILTERS = given_at(THREADS, CALL)
LIMIT = rows(LIMIT_MAX)
REFUSED = refusals(404, 409, 412, 422)


def detail(view: MemberView, thread_id: UUID, *, status: int = 200, **headers: str) -> Response:
    """One thread as it is now, for the caller; ETag = version."""
    row, payload, _ = thread_detail(view.actor, thread_id)
    return answer(payload, status, ETag=f'"{row.version}"', **headers)


class Threads(MemberView):
    """The threads of the workspace."""

    changes = "start"

    @extend_schema(
        operation_id="threads_list",
        responses={200: ThreadList, **refusals(422)},
        parameters=[
            *call_parameters(THREADS),
            words("cursor", "`next_cursor` of the page before."),
            LIMIT,
        ],
        summary="List threads",
        description="Follow `next_cursor` until it is empty: where no index finds what a filter "
        f"selects, a page searches {queries.LIST_LOOK:,} threads of each status and can have fewer "
        "than `limit`, even none.",
    )
    def get(self, request: Request) -> Response:
        """By their last change of status, newest first."""
        values = read(FILTERS, {one.name: self.text(one.name) for one in FILTERS})
        page = queries.threads(
            selection_of(values),
            workspace=self.actor.workspace,
            limit=self.limit(LIMIT),
            after=self.text("cursor"),
            look=queries.LIST_LOOK,
        )
        results = [Thread.of(row) for row in page.rows]
        return answer(ThreadList(results=results, next_cursor=page.next_cursor))

    @extend_schema(
        request=StartThread,
        operation_id="threads_start",
        parameters=[TRACEPARENT],
        responses={201: ThreadDetail, 200: ThreadDetail, **refusals(422)},
        summary="Start a thread, or continue the one of this name",
        description="200: the agent's thread of this name, which continues if it was paused or "
        "failed. Sent with other input or config than it began with: 422.",
    )
    def post(self, request: Request) -> Response:
        """201 with the new thread, 200 with the one that had this name already."""
        body = self.body(StartThread)
        own = body.model_dump(exclude={"external"})
        external = None if body.external is None else body.external.announcement()
        own["traceparent"] = request.headers.get("traceparent", "")
        thread, new = start_or_continue(self.actor, **own, external=external)
        location = reverse("api:thread", args=[thread])
        return detail(self, thread, status=201 if new else 200, Location=location)


class ThreadCounts(MemberView):
    """The number of threads per status."""

    @extend_schema(responses={200: Counts, **refusals()}, summary="Threads per status")
    def get(self, request: Request) -> Response:
        """Count the threads of each status, up to `cap`."""
        workspace = self.actor.workspace
        top = queries.Selection(tree=queries.TreeFilter(top=True))
        counts = queries.counts(top, workspace=workspace)
        return answer(
            Counts(
                children=min(queries.children_beside(workspace=workspace), queries.COUNT_CAP),
                counts={str(s): min(n, queries.COUNT_CAP) for s, n in counts.items()},
                open_approvals=min(
                    gates.open_count(workspace=self.actor.workspace), gates.OPEN_CAP
                ),
                damaged=queries.integrity(workspace=self.actor.workspace).damaged,
                cap=queries.COUNT_CAP,
                saved=queries.fleet_saved(workspace=self.actor.workspace),
            )
        )


class CancelThread(MemberView):
    """Cancel a thread."""

    changes = "cancel"
    previews = True

    @extend_schema(
        operation_id="threads_cancel",
        request=Cancel,
        responses={200: CancelAnswer, 202: ThreadDetail, **REFUSED},
        parameters=[IF_MATCH, PREVIEW],
        summary="End a thread, and undo what it did where that is wanted",
        description="202: a worker undoes the effects, most recent first, then the thread is "
        "cancelled. "
        "200: it is cancelled.",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """Any unfinished status -> cancelled; takes it away from its worker."""
        body = self.body(Cancel)
        if self.flag("preview"):
            how = {"undo_effects": body.undo, "undo_unknown": body.undo_unknown}
            plan = preview_cancel(self.actor, thread_id, body.reason, **how)
            refuse_preview(self.actor, "cancel", thread_id, self.expected_version())
            return answer(CancelPreview.of(plan), ETag=f'"{plan.version}"')
        undone = cancel(
            self.actor,
            thread_id,
            body.reason,
            body.undo,
            body.undo_unknown,
            children=body.children,
            expected_version=self.expected_version(),
        )
        return detail(self, thread_id, status=202 if undone else 200)


class EditThread(MemberView):
    """Edit a thread's state."""

    changes = "edit"
    previews = True

    @extend_schema(
        operation_id="threads_edit",
        request=Edit,
        responses={202: SecondPersonAsked, 200: EditAnswer, **REFUSED},
        parameters=[IF_MATCH, PREVIEW],
        summary="Write new values over the head",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """A checkpoint by a person; open requests are withdrawn."""
        body = self.body(Edit)
        if self.flag("preview"):
            plan = preview_edit(
                *(self.actor, thread_id, body.changes, self.expected_version(), body.reason)
            )
            refuse_preview(self.actor, "edit", thread_id, self.expected_version())
            return answer(EditPreview.of(plan), ETag=f'"{plan.version}"')
        edit(self.actor, thread_id, body.changes, body.reason, self.expected_version())
        return detail(self, thread_id)


class ForkThread(MemberView):
    """Fork a thread."""

    changes = "fork"
    previews = True

    @extend_schema(
        operation_id="threads_fork",
        request=Fork,
        responses={202: SecondPersonAsked, 201: ThreadDetail, 200: ForkPreview, **REFUSED},
        parameters=[PREVIEW],
        summary="Begin a new thread from a checkpoint of this one",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """The base stays as it is; answers the new thread."""
        body = self.body(Fork)
        more = body.more()
        call = more.get("instead_of")
        point = fork_point(self.actor, thread_id, body.checkpoint, call)
        where = (self.actor, thread_id, point, body.changes)
        if self.flag("preview"):
            more |= {"title": body.title, "effects": body.effects, "reason": body.reason}
            plan = preview_fork(*where, body.config, **more)
            return answer(ForkPreview.of(plan))
        new = fork(*where, body.title, body.effects, body.reason, body.config, **more)
        return detail(self, new, status=201, Location=reverse("api:thread", args=[new]))


class VerifyThread(MemberView):
    """Verify a thread."""

    changes = "verify"
    keyed = False  # each time anew: a remembered verdict would prove nothing

    @extend_schema(
        operation_id="threads_verify",
        request=Nothing,
        responses={200: VerificationRow, **refusals(404, 409)},
        summary="Compute the thread's past again",
        description="Events, checkpoints, activities, approvals, decisions and files. A thread "
        f"with more than 20,000 events answers 409: `{COMMAND} verify` takes its time.",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """200 also where something is broken: `intact` says so."""
        self.body(Nothing)
        return answer(verify(self.actor, thread_id))


class RollBackThread(MemberView):
    """Roll a thread back."""

    changes = "roll_back"
    previews = True

    @extend_schema(
        operation_id="threads_roll_back",
        request=RollBack,
        responses={202: ThreadDetail, 200: RollBackPreview, **REFUSED},
        parameters=[IF_MATCH, PREVIEW],
        summary="Move the head back and undo effects",
        description="202: a worker undoes the effects, most recent first, and pauses at the "
        "target. "
        "Where a policy demands a second person: 202 with `approval` and `url`, nothing is done.",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """With `run_on` the thread is queued instead of paused afterwards."""
        body = self.body(RollBack)
        if self.flag("preview"):
            plan = preview_roll_back(self.actor, thread_id, body.checkpoint, body.reason)
            refuse_preview(self.actor, "roll_back", thread_id, self.expected_version())
            return answer(RollBackPreview.of(plan), ETag=f'"{plan.version}"')
        roll_back(
            self.actor,
            thread_id,
            body.checkpoint,
            body.reason,
            self.expected_version(),
            body.run_on,
            body.compensate,
            body.children,
        )
        return detail(self, thread_id, status=202)

"""Questions to the record, and their answers as a file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Self
from uuid import UUID

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import Field
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.records import (
    CALLS_AFTER,
    COUNT_CAP,
    PER_REQUEST,
    Answers,
    Outcome,
    Outcomes,
    RecordRow,
)
from approvals.states import RISKS, VERDICTS
from dashboard import actions
from dashboard.actions.audit import questions
from dashboard.api.protocol.base import MemberView, answer, refusals
from dashboard.api.protocol.parameters import LIMIT_MAX, choice, ident, rows, whole, words
from dashboard.api.protocol.renderers import ZipRenderer
from dashboard.api.shapes.django_request import django_request
from dashboard.board.saved_views.questions import FILTERS, STEP_MAX, TEXT_MAX
from dashboard.documents.state_shape import Shape
from dashboard.identity.people import people
from dashboard.records.exports.package import ROWS_DEFAULT, ROWS_MAX
from dashboard.records.exports.rows import FORMS
from dashboard.records.integrity.record_integrity import Integrity, ThreadIntegrity, summary_of
from dashboard.threads.capsules.downloads import MEDIA_TYPE, download
from dashboard.wording.parties import recognised

# It names the transactions that were open when the first part began, as many as there are.
CURSOR_MAX = 4_000
LIMIT, ROWS = rows(LIMIT_MAX), rows(ROWS_MAX)
# Of the filters, those that take something other than a text.
_OTHERS = {
    "thread": ident("thread", FILTERS["thread"]),
    "decision": choice("decision", VERDICTS, FILTERS["decision"]),
    "risk": choice("risk", RISKS, FILTERS["risk"]),
    "step": whole("step", FILTERS["step"], high=STEP_MAX),
}
PARAMETERS = [
    _OTHERS.get(name) or words(name, about, longest=TEXT_MAX) for name, about in FILTERS.items()
]


CAME_OF_ALL = (
    f"False where there may be more: the first {PER_REQUEST} of each of `node`, `later` and `fork` "
    f"are listed, and `later` looks at the first {CALLS_AFTER:,} calls after the request."
)


class CameOf(Shape):
    """An effect that came of a request; `state` is `compensated` once it was undone.

    `relation`: `request`, its record names the request; `node`, the node that waited for the answer
    made it; `later`, the thread made it afterwards and before its next request, and asked nobody;
    `undo`, the rollback that was asked for was to undo it; `fork`, the fork that was asked for made
    it and asked nobody.
    """

    relation: Literal["request", "node", "later", "undo", "fork"]
    activity: UUID
    tool: str
    state: str
    sentence: str
    error: str
    attempts: int
    started_at: datetime
    finished_at: datetime | None
    undo_failed: bool = Field(description="The last try to undo it failed: it is still in place.")
    undo_error: str

    @classmethod
    def of(cls, row: Outcome) -> Self:
        """The row for the wire."""
        return cls(
            relation=row.relation,
            activity=row.activity,
            tool=row.tool,
            state=row.state,
            sentence=row.sentence,
            error=row.error,
            attempts=row.attempts,
            started_at=row.started_at,
            finished_at=row.finished_at,
            undo_failed=row.undo_failed,
            undo_error=row.undo_error,
        )


class RecordedEvent(Shape):
    """An event that fits, and what it is about.

    `by` is the person's name; `checkpoint` the number of the thread's newest checkpoint then.
    `request`, `risk`, `amount` and `payee` are of the request that it belongs to; amount and payee
    stand in its arguments under a name that says so, or are empty. `came_of` are the effects that
    came of that request until now.
    """

    thread: UUID
    seq: int
    kind: str
    at: datetime
    actor: str
    by: str
    agent: str
    title: str
    checkpoint: int | None
    node: str
    step: int | None
    tool: str
    risk: str
    decision: str
    approval: UUID | None
    request: str
    amount: str
    payee: str
    came_of: list[CameOf]
    came_of_all: bool = Field(description=CAME_OF_ALL)
    data: Any
    hash: str
    integrity: Integrity
    damage: str = Field(description="Why the event is `damaged`; empty of others.")

    @classmethod
    def of(cls, row: RecordRow, by: str, outcomes: Outcomes, integrity: ThreadIntegrity) -> Self:
        """The row for the wire."""
        about = recognised(row.args)
        return cls(
            thread=row.thread,
            seq=row.seq,
            kind=row.kind,
            at=row.at,
            actor=row.actor,
            by=by,
            agent=row.agent,
            title=row.title,
            checkpoint=row.checkpoint,
            node=row.node,
            step=row.step,
            tool=row.tool,
            risk=row.risk,
            decision=row.decision,
            approval=row.approval,
            request=row.request,
            amount=about.amount,
            payee=about.payee,
            came_of=[CameOf.of(one) for one in outcomes.rows],
            came_of_all=outcomes.complete,
            data=row.data,
            hash=row.hash.hex(),
            integrity=integrity.state_at(row.seq),
            damage=integrity.damage_at(row.seq),
        )


class CheckedThreads(Shape):
    """Numbers of threads of a page: verified now up to their last event, verified earlier, never.

    `damaged` of them are damaged. Rows behind the last event that was verified are `unchecked`.
    """

    now: int
    earlier: int
    never: int
    damaged: int


class RecordedEvents(Shape):
    """A page of events, newest first.

    `count` is how many fit from here on, counted up to `cap`. `searched_all` false: only the newest
    were searched by now, `next_cursor` goes on, and a page may have no row.
    """

    results: list[RecordedEvent]
    next_cursor: str
    count: int
    cap: int
    searched_all: bool
    checked: CheckedThreads


def page_of(page: Answers, integrity: Mapping[UUID, ThreadIntegrity]) -> RecordedEvents:
    """A page of answers for the wire; people are named where they are of this installation."""
    checked = summary_of(integrity.values())
    names = people(row.actor for row in page.rows if not row.imported)
    return RecordedEvents(
        results=[
            RecordedEvent.of(
                row,
                "" if row.imported else names.get(row.actor, ""),
                page.outcomes_of(row),
                integrity[row.thread],
            )
            for row in page.rows
        ],
        next_cursor=page.next_cursor,
        count=min(page.count, COUNT_CAP),
        cap=COUNT_CAP,
        searched_all=page.searched_all,
        checked=CheckedThreads(
            now=checked.now,
            earlier=checked.earlier,
            never=checked.never,
            damaged=len(checked.damaged),
        ),
    )


class AskingView(MemberView):
    """A call with the filters of a question."""

    def filters(self) -> dict[str, str]:
        """The filters as they were written."""
        return {name: self.text(name) for name in FILTERS}


class Records(AskingView):
    """Events across threads."""

    @extend_schema(
        operation_id="records_list",
        responses={200: RecordedEvents, **refusals(422)},
        parameters=[*PARAMETERS, words("cursor", "`next_cursor` of the page before."), LIMIT],
        summary="Ask the record: who decided what, when, on what",
        description="An event has to fit every filter. Along an index whatever is asked: an "
        "answer searches the newest 50,000 events at most, then says where to continue.",
    )
    def get(self, request: Request) -> Response:
        """Newest first."""
        page = questions.ask(
            self.actor, self.filters(), cursor=self.text("cursor"), limit=self.limit(LIMIT)
        )
        return answer(page_of(page, questions.integrity_of_answers(self.actor, page)))


class ExportRecords(AskingView):
    """The same events as a file."""

    renderer_classes = (ZipRenderer, JSONRenderer)
    http_method_names = ("get", "options")  # HEAD would be logged as taken away

    @extend_schema(
        operation_id="records_export",
        responses={(200, MEDIA_TYPE): OpenApiTypes.BINARY, **refusals(422)},
        parameters=[
            OpenApiParameter("format", str, exclude=True),
            *PARAMETERS,
            choice("form", tuple(FORMS), "The form of the rows: jsonl unless given."),
            words("cursor", "`next` in export.json of the part before.", longest=CURSOR_MAX),
            ROWS,
        ],
        summary="Export events, with the chains that prove them",
        description="A zip file of at most `limit` events, "
        f"{ROWS_DEFAULT:,} unless given, oldest first, sent while it is read. `next` in its "
        "export.json leads to the next part; all parts are of the moment when the first began. "
        "Each is verified alone, offline, by `tools/verify_export.py`. The log of the workspace "
        "has who began to take it, and before its end the hash of its MANIFEST. A file without an "
        "end was cut off: take that part again. Roles: operator, auditor.",
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """On record first, then read while it is sent."""
        export = actions.export_records(
            self.actor,
            self.filters(),
            form=self.text("form") or "jsonl",
            cursor=self.text("cursor"),
            limit=self.number(ROWS, ROWS_DEFAULT),
        )
        return download(django_request(request), export)

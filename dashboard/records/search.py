"""Questions to the record: the events of a workspace that fit every filter."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from approvals import records
from approvals.records import (
    COUNT_CAP,
    Answers,
    Outcomes,
    RecordRow,
)
from approvals.verification.integrity import (
    Integrity,
    ThreadIntegrity,
    integrity_of,
    summary_of,
)
from checkpoints.errors import InvalidValue
from dashboard.approvals.report_outcomes import CAME_OF_ALL, CameOf
from dashboard.board.filters.records import RECORDS
from dashboard.board.saved_views.questions import question_of
from dashboard.documents.state_shape import Shape
from dashboard.errors import Invalid, translated
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor, require
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.api.parameters import LIMIT_MAX, rows, words
from dashboard.kit.filters import call_parameters
from dashboard.wording.parties import recognised

LIMIT = rows(LIMIT_MAX)
PARAMETERS = call_parameters(RECORDS)


# The row has the columns of the chain, which only verification needs, and ids where names stand.
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


# The reader lists the damaged threads; here is their number.
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
    were searched by now, `next_cursor` continues, and a page may have no row.
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


@translated()
def ask(actor: Actor, filters: Mapping[str, str], *, cursor: str = "", limit: int = 50) -> Answers:
    """Events of the actor's workspace that fit every filter, newest first."""
    require(actor, "read")
    try:
        return records.answer(question_of(actor.workspace, filters), cursor=cursor, limit=limit)
    except InvalidValue as error:
        # The name of a parameter, not a path within a body.
        raise Invalid(error.path, error.reason) from error


def integrity_of_answers(actor: Actor, answers: Answers) -> Mapping[UUID, ThreadIntegrity]:
    """{thread: its integrity} of a page; damaged rows are marked and never left out."""
    threads = (row.thread for row in answers.rows)
    return integrity_of(threads, workspace=actor.workspace, by=actor.id)


class AskingView(MemberView):
    """A call with the filters of a question."""

    def filters(self) -> dict[str, str]:
        """The filters as they were written."""
        return {one.name: self.text(one.name) for one in RECORDS}


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
        page = ask(self.actor, self.filters(), cursor=self.text("cursor"), limit=self.limit(LIMIT))
        return answer(page_of(page, integrity_of_answers(self.actor, page)))

"""The report on one decision."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.gates.prior_effects import PriorRow
from dashboard.documents.state_shape import Shape
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.api.parameters import choice

from .report import DecisionReport, Proved, ReportedDifference, Verdict
from .report_outcomes import CAME_OF_ALL, CameOf
from .report_page import attachment

HTML = "text/html"


class ReportedNotice(Shape):
    """A message about the request; neither sent nor failed: on its way."""

    to: str
    endpoint: str
    channel: str
    kind: str
    sent_at: datetime | None
    failed_at: datetime | None
    skipped: str


# The row has the id of the person, a file that is passed on the name.
class ReportedLook(Shape):
    """The first time that a person opened the request while it was open."""

    person: str
    at: datetime


# The page reads whole rows of votes, notices and events; a file that is passed on has these fields.
class ReportedVote(Shape):
    """A verdict with its reason; `edits` is what an edit changed in what stood before."""

    reviewer: str
    reviewer_name: str
    verdict: str
    comment: str
    what_next: str
    at: datetime | None
    counts: bool
    proposal_hash: str
    edits: list[ReportedDifference]

    @classmethod
    def of(cls, row: Verdict) -> Self:
        """The row for the wire."""
        vote = row.vote
        return cls(
            reviewer=vote.reviewer,
            reviewer_name=vote.reviewer_name,
            verdict=vote.verdict,
            comment=vote.comment,
            what_next=vote.what_next,
            at=vote.at,
            counts=vote.counts,
            proposal_hash=vote.proposal_hash,
            edits=row.edits,
        )


class ReportedExecution(Shape):
    """The effect that was carried out under the request."""

    activity: UUID
    state: str
    args: Any
    result: Any
    error: str
    idempotency_key: str
    started_at: datetime
    finished_at: datetime | None
    undo_result: Any


class ReportedProof(Shape):
    """An event of the request, with its place in the chain of the thread."""

    seq: int
    kind: str
    at: datetime
    actor: str
    says: str
    data_hash: str
    prev_hash: str
    hash: str
    damage: str = Field(description="Why the event is damaged; empty of others.")

    @classmethod
    def of(cls, one: Proved) -> Self:
        """The event for the wire."""
        row = one.row
        return cls(
            seq=row.seq,
            kind=row.kind,
            at=row.at,
            actor=row.actor,
            says=one.says,
            data_hash=row.data_hash.hex(),
            prev_hash=row.prev_hash.hex(),
            hash=row.hash.hex(),
            damage=one.damage,
        )


class Report(Shape):
    """All that the record has of one request."""

    id: UUID
    title: str
    status: str
    outcome: str
    agent: str
    agent_version: int
    thread: UUID
    thread_title: str
    node: str
    step: int
    branch: int
    tool: str
    risk: str
    requested_at: datetime
    decide_by: datetime | None
    proposal: Any
    proposal_hash: str
    edited: Any = Field(description="The arguments that stand: those of an edit, else those above.")
    edited_hash: str
    amount: str
    payee: str
    last_time: UUID | None = Field(description="The last comparable request that was approved.")
    differs: list[ReportedDifference]
    rule: str
    policy_version: str
    terms: Any
    notices: list[ReportedNotice]
    looks: list[ReportedLook]
    votes: list[ReportedVote]
    execution: ReportedExecution | None
    done_before: list[PriorRow] = Field(
        description="Effects of the same node that were done before it asked, at most 50."
    )
    came_of: list[CameOf]
    came_of_all: bool = Field(description=CAME_OF_ALL)
    undo: str
    proof: list[ReportedProof]
    verified: bool | None = Field(description="Whether the record is intact; null: not verified.")
    verified_events: int = Field(description="Events 1 to this one were verified.")
    damage: str
    verified_at: datetime | None
    made_at: datetime

    @classmethod
    def of(cls, report: DecisionReport) -> Self:
        """The report for the wire."""
        row, check, about = report.approval, report.verification, report.about
        last = report.page.last
        return cls(
            id=row.id,
            title=row.headline,
            status=row.status,
            outcome=row.outcome,
            agent=row.agent,
            agent_version=report.page.version.version,
            thread=row.thread,
            thread_title=row.thread_title,
            node=row.node,
            step=row.step,
            branch=row.branch,
            tool=row.tool,
            risk=row.risk,
            requested_at=row.requested_at,
            decide_by=row.decide_by or row.deadline,
            proposal=row.args,
            proposal_hash=row.proposal_hash,
            edited=row.shown_args,
            edited_hash=row.standing_hash,
            amount=about.amount,
            payee=about.payee,
            last_time=None if last is None else last.row.id,
            differs=report.last_time,
            rule=report.page.progress.terms.rule,
            policy_version=row.policy_version,
            terms=report.terms,
            notices=_notices(report),
            looks=[ReportedLook(person=who, at=look.at) for who, look in report.looks],
            votes=[ReportedVote.of(one) for one in report.verdicts],
            execution=_execution(report),
            done_before=list(report.page.prior.rows),
            came_of=[CameOf.of(one) for one in report.came_of],
            came_of_all=report.outcomes.complete,
            undo=row.undo,
            proof=[ReportedProof.of(one) for one in report.proof],
            verified=None if check is None else check.intact,
            verified_events=0 if check is None else check.n_events,
            damage="" if check is None or check.intact else check.what,
            verified_at=None if check is None else check.checked_at,
            made_at=report.made_at,
        )


def _notices(report: DecisionReport) -> list[ReportedNotice]:
    return [
        ReportedNotice(
            to=who,
            endpoint=notice.endpoint,
            channel=notice.channel,
            kind=notice.kind,
            sent_at=None if notice.skipped else notice.done_at,
            failed_at=notice.failed_at,
            skipped=notice.skipped,
        )
        for who, notice in report.notices
    ]


def _execution(report: DecisionReport) -> ReportedExecution | None:
    done = report.done
    if done is None:
        return None
    return ReportedExecution(
        activity=done.id,
        state=done.state,
        args=done.args,
        result=done.result,
        error=done.error,
        idempotency_key=done.idempotency_key,
        started_at=done.started_at,
        finished_at=done.finished_at,
        undo_result=done.undo_result,
    )


class ReportOnApproval(MemberView):
    """The report on a request."""

    @extend_schema(
        operation_id="approvals_report",
        responses={200: Report, (200, HTML): OpenApiTypes.STR, **refusals(404, 422)},
        parameters=[
            choice("form", ("json", "html"), "json unless given; html: one file to print.")
        ],
        summary="The report on a decision: what, who, when, the outcome and the proof",
    )
    def get(self, request: Request, approval_id: UUID) -> Response | HttpResponse:
        """As the record stands now."""
        report = DecisionReport(self.actor.workspace, approval_id, by=self.actor.id)
        if self.text("form") == "html":
            return attachment(report)
        return answer(Report.of(report))

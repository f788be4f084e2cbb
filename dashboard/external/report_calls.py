"""Reports of agents that work elsewhere, and their questions before they act."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from approvals import queries
from dashboard.external.answers import (
    AnswerOne,
    Answers,
    BegunActivity,
    CheckedActivity,
    CheckpointKept,
    KeptCheckpoint,
    RecordedActivities,
    ReportKept,
    SettledActivity,
    requests_of,
)
from dashboard.external.requests import (
    AskPeople,
    BeginActivity,
    RecordActivities,
    ReportCheckpoint,
    ReportedGate,
    ReportEvents,
    SettleActivity,
    SettleUndo,
)
from dashboard.kit.api.base import answer, refusals
from dashboard.kit.api.parsers import RecordsParser, ResultParser
from dashboard.threads.past import ThreadCheckpoints, ThreadEvents
from workers.authoring.graph import Gate
from workers.external.committed import Report
from workers.external.reported import Answer

from . import reports
from .leased_view import LEASE, LeasedView

REFUSED = refusals(404, 409, 412, 422)
HEADERS = [LEASE]


COMMIT = extend_schema(
    operation_id="external_commit",
    request=ReportCheckpoint,
    parameters=HEADERS,
    responses={201: CheckpointKept, 200: CheckpointKept, **REFUSED},
    summary="Commit the end of a step",
    description="200: it was committed before, under the same `id` or step.",
)
NOTE = extend_schema(
    operation_id="external_note",
    request=ReportEvents,
    parameters=[LEASE, OpenApiParameter("format", str, exclude=True)],
    responses={(200, "application/json"): ReportKept, **REFUSED},
    summary="Keep thoughts, show progress",
)


def commit_checkpoint(view: LeasedView, thread_id: UUID) -> Response:
    """The end of a step, under the lease of the view."""
    body = view.body(ReportCheckpoint)
    report = Report(
        id=body.id,
        step=body.step,
        nodes=body.nodes,
        next_nodes=body.next_nodes,
        delta=body.delta or {},
        taken=body.taken,
        thoughts=[thought.model_dump() for thought in body.thoughts],
    )
    row, is_new = reports.commit(
        view.actor, thread_id, view.lease, report, parent=body.parent, state=body.state
    )
    payload = CheckpointKept(checkpoint=KeptCheckpoint.of(row), thread=view.now(thread_id))
    return answer(payload, 201 if is_new else 200)


class BeginCall(LeasedView):
    """Begin an activity."""

    @extend_schema(
        operation_id="external_begin",
        request=BeginActivity,
        parameters=HEADERS,
        responses={200: BegunActivity, **REFUSED},
        summary="Ask whether something may be done now; an effect starts with the answer",
        description="`call`: do it with exactly these `args`, then settle it. `answer`: it is on "
        "record. `wait`: people are asked, the lease is gone. `refused`: they said no. `stop`: the "
        "thread was left, the lease is gone. To send a lost begin of an effect again that is not "
        "idempotent, use `Idempotency-Key`.",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """By gates, policies, caps and the record, as for a node of ours."""
        body = self.body(BeginActivity)
        result = reports.begin(
            self.actor,
            thread_id,
            self.lease,
            body.at,
            step=body.step,
            kind=body.kind,
            tool=body.tool,
            args=body.args,
            gate=_gate(body.gate),
        )
        return answer(
            BegunActivity(
                do=result.do,
                args=result.args,
                idempotency_key=result.key,
                result=result.result,
                reason=result.reason,
                what_next=result.what_next,
                comment=result.comment,
                by=result.by,
                activity=result.activity,
                approvals=requests_of(result.requests),
                thread=self.now(thread_id),
            )
        )


class CheckCall(LeasedView):
    """Check an activity."""

    @extend_schema(
        operation_id="external_check",
        request=BeginActivity,
        parameters=HEADERS,
        responses={200: CheckedActivity, **REFUSED},
        summary="Read whether people would be asked before a call, by which policy and why",
        description="Takes what a begin takes and changes nothing. Policies are asked as they are "
        "now; the begin asks them again.",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """By policies, the call's gate, and the rule of forks."""
        body = self.body(BeginActivity)
        result = reports.check(
            self.actor,
            thread_id,
            self.lease,
            body.at,
            step=body.step,
            kind=body.kind,
            tool=body.tool,
            args=body.args,
            gate=_gate(body.gate),
        )
        return answer(
            CheckedActivity(asks=result.asks, **asdict(result), thread=self.now(thread_id))
        )


def _gate(gate: ReportedGate | None) -> Gate | None:
    return None if gate is None else Gate(**gate.model_dump())


class SettleCall(LeasedView):
    """Settle an activity."""

    parser_classes = (ResultParser,)

    @extend_schema(
        operation_id="external_settle",
        request=SettleActivity,
        parameters=HEADERS,
        responses={200: SettledActivity, **REFUSED},
        summary="Report the outcome of a call",
        description="`failed`: it did not happen. `unknown`: nobody knows; an effect then needs a "
        "person, and the lease is gone.",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """started -> done, failed or unknown."""
        body = self.body(SettleActivity)
        row = reports.settle(
            self.actor,
            thread_id,
            self.lease,
            body.at,
            step=body.step,
            state=body.state,
            result=body.result,
            error=body.error,
            usage=_usage(body),
            kind=body.kind,
            tool=body.tool,
            args=body.args,
        )
        return answer(SettledActivity(activity=row, thread=self.now(thread_id)))


def _usage(body: Any) -> dict[str, Any] | None:
    return None if body.usage is None else body.usage.model_dump(exclude_none=True) or None


class RecordCalls(LeasedView):
    """Record activities."""

    parser_classes = (RecordsParser,)

    @extend_schema(
        operation_id="external_record",
        request=RecordActivities,
        parameters=HEADERS,
        responses={200: RecordedActivities, **REFUSED},
        summary="Keep several pure calls that are done, in one go",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """Record finished calls; one already recorded with this result stays as it is."""
        body = self.body(RecordActivities)
        records = [one.model_dump() | {"usage": _usage(one)} for one in body.records]
        rows = reports.record(
            self.actor, thread_id, self.lease, after=body.checkpoint, records=records
        )
        return answer(RecordedActivities(activities=rows, thread=self.now(thread_id)))


class UndoCall(LeasedView):
    """Report an undo."""

    parser_classes = (ResultParser,)

    @extend_schema(
        operation_id="external_undo",
        request=SettleUndo,
        parameters=HEADERS,
        responses={200: ReportKept, **REFUSED},
        summary="Report the outcome of an undo",
        description="After the last one the head is set back, and the lease is gone.",
    )
    def post(self, request: Request, thread_id: UUID, activity_id: UUID) -> Response:
        """Of an effect that `next/` lists under `undo`."""
        body = self.body(SettleUndo)
        reports.settle_undo(
            self.actor, thread_id, self.lease, activity_id, result=body.result, error=body.error
        )
        return answer(ReportKept(thread=self.now(thread_id)))


class AskForAnswers(LeasedView):
    """Ask people."""

    @extend_schema(
        operation_id="external_ask",
        request=AskPeople,
        parameters=HEADERS,
        responses={200: Answers, **REFUSED},
        summary="Ask people; sent again once they have decided, what they said",
        description="All requests are opened together. `wait`: the thread waits for people, and "
        "the lease is gone.",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """running -> waiting, unless all of it is answered."""
        body = self.body(AskPeople)
        questions = [_question(one) for one in body.ask]
        do, results = reports.ask(self.actor, thread_id, self.lease, questions, step=body.step)
        answers = [_answered(one, result) for one, result in zip(body.ask, results, strict=True)]
        requests = [] if do == "answer" else queries.for_thread(thread_id, open_only=True)
        return answer(
            Answers(
                do=do,
                answers=answers,
                approvals=requests_of(requests),
                thread=self.now(thread_id),
            )
        )


def _question(one: Any) -> dict[str, Any]:
    question = None if one.question is None else one.question.model_dump(by_alias=True)
    effect = None
    if one.effect is not None:
        effect = {
            "tool": one.effect.tool,
            "args": one.effect.args,
            "gate": _gate(one.effect.gate),
        }
    at = one.model_dump(include={"node", "index", "key", "interrupt"})
    return {**at, "question": question, "effect": effect}


def _answered(one: Any, result: Answer) -> AnswerOne:
    state: Any = {"answer": "answered", "wait": "waiting"}.get(result.do, result.what_next)
    return AnswerOne(
        node=one.node,
        index=one.index,
        key=one.key,
        state=state,
        answer=result.result,
        comment=result.comment or result.reason,
        by=result.by,
    )


def report_events(view: LeasedView, thread_id: UUID) -> Response:
    """Thoughts and progress, under the lease of the view."""
    body = view.body(ReportEvents)
    reports.note(
        view.actor,
        thread_id,
        view.lease,
        step=body.step,
        thoughts=[thought.model_dump() for thought in body.thoughts],
        progress=None if body.progress is None else body.progress.model_dump(exclude_none=True),
    )
    return answer(ReportKept(thread=view.now(thread_id)))


class Checkpoints(LeasedView, ThreadCheckpoints):
    """The checkpoints."""

    @COMMIT
    def post(self, request: Request, thread_id: UUID) -> Response:
        """By an agent that works elsewhere, under its lease."""
        return commit_checkpoint(self, thread_id)


class Events(LeasedView, ThreadEvents):
    """The events."""

    @NOTE
    def post(self, request: Request, thread_id: UUID) -> Response:
        """By an agent that works elsewhere, under its lease."""
        return report_events(self, thread_id)

"""Leases of agents that work elsewhere, and what is to be done next."""

from __future__ import annotations

from uuid import UUID

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from approvals import queries as approval_queries
from checkpoints import queries
from dashboard.external.answers import (
    LeaseRenewed,
    LeaseTaken,
    NextStep,
    ReportKept,
    ThreadNow,
    requests_of,
)
from dashboard.external.requests import ReleaseLease, RenewLease, TakeLease
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.api.long_poll import WAIT_MAX, answer_after
from dashboard.kit.api.parameters import whole

from . import leases, next_steps
from .leased_view import LEASE, OPTIONAL_LEASE, ExternalView, LeasedView, token_of

WAIT = whole(
    "wait",
    f"With `after`: answer once there is more, at the latest after this many seconds, up to "
    f"{WAIT_MAX}.",
    high=WAIT_MAX,
)
AFTER = whole("after", "The `seq` that you know.")


class TakeThread(ExternalView):
    """Take a lease."""

    @extend_schema(
        operation_id="external_take",
        request=TakeLease,
        responses={200: LeaseTaken, **refusals(404, 409, 422)},
        summary="Take the lease of a thread, with everything needed to continue",
        description="Of one that is queued, or whose holder let the lease expire. 409 `leased` "
        "while another holder lives, 409 `not-allowed-now` in any other status.",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """queued -> running."""
        body = self.body(TakeLease)
        announced = None if body.external is None else body.external.announcement()
        held = leases.take(self.actor, thread_id, body.name, body.seconds, announced=announced)
        work, row = held.work, held.thread
        branch, step = work.branch, work.step + 1
        recorded = queries.step_activities(thread_id, branch=branch, step=step)
        asked_for = approval_queries.at_step(thread_id, branch=branch, step=step)
        requests = {(row.node, row.index, row.key): row for row in asked_for}
        return answer(
            LeaseTaken(
                token=work.token,
                until=held.until,
                seconds=body.seconds,
                fence=work.fence,
                thread=ThreadNow.of(row),
                state=queries.state_at(thread_id, work.head),
                config=queries.config_of(thread_id),
                activities=recorded,
                approvals=requests_of(list(requests.values())),
                messages=queries.waiting_inputs(thread_id),
            )
        )


class RenewThread(LeasedView):
    """Renew a lease."""

    @extend_schema(
        operation_id="external_renew",
        request=RenewLease,
        parameters=[LEASE],
        responses={200: LeaseRenewed, **refusals(404, 409, 422)},
        summary="Prolong a lease: the heartbeat",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """Send it a few times within each term."""
        row = leases.renew(self.actor, thread_id, self.lease, self.body(RenewLease).seconds)
        return answer(LeaseRenewed(until=row.lease_until or row.last_at, thread=ThreadNow.of(row)))


class ReleaseThread(LeasedView):
    """Give a lease back."""

    @extend_schema(
        operation_id="external_release",
        request=ReleaseLease,
        parameters=[LEASE],
        responses={200: ReportKept, **refusals(404, 409, 422)},
        summary="Give the lease back and leave the thread",
        description="`queued`: somebody else continues. `sleeping` wakes after `seconds`.",
    )
    def post(self, request: Request, thread_id: UUID) -> Response:
        """running -> queued, succeeded, failed, paused or sleeping."""
        body = self.body(ReleaseLease)
        row = leases.release(self.actor, thread_id, self.lease, body.as_, body.reason, body.seconds)
        return answer(ReportKept(thread=ThreadNow.of(row)))


class NextOfThread(MemberView):
    """The next action of an agent that works elsewhere."""

    @extend_schema(
        operation_id="external_next",
        parameters=[WAIT, AFTER, OPTIONAL_LEASE],
        responses={200: NextStep, **refusals(404, 422)},
        summary="What an agent that works elsewhere is to do next; a long poll",
        description="`take`: take the lease. `work`: continue. `wait`: ask again. `undo`: undo "
        "what `undo` lists. `stop`: it was taken from you. `ended`: nothing is left to do.",
    )
    def get(self, request: Request, thread_id: UUID) -> HttpResponseBase:
        """Answer immediately without `wait`, or if there is news already."""
        actor, token = self.actor, token_of(self.request)
        seconds, known = self.number(WAIT, 0), self.number(AFTER, 0)

        def read() -> NextStep:
            return _shown(next_steps.next_of(actor, thread_id, token))

        result = read()
        if not seconds or result.seq > known:
            return answer(result)
        return answer_after(
            thread_id,
            seconds=seconds,
            is_due=lambda: read().seq > known,
            body=lambda: read().model_dump_json(by_alias=True).encode(),
        )


def _shown(step: next_steps.Next) -> NextStep:
    return NextStep(
        do=step.do,
        reason=step.reason,
        seq=step.thread.last_seq,
        lease=step.lease,
        thread=ThreadNow.of(step.thread),
        messages=list(step.messages),
        approvals=requests_of(list(step.requests)),
        undo=list(step.undo),
    )

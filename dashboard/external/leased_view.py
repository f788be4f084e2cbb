"""Shared base of the calls under a lease: its header, and the thread afterwards."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from checkpoints.queries.threads import thread_summary
from dashboard.errors import Malformed
from dashboard.external.answers import ThreadNow
from dashboard.identity.rate_limits import REPORTS_ACCOUNT, REPORTS_ADDRESS
from dashboard.kit.api.base import MemberView
from dashboard.kit.shapes.texts import is_id

from . import leases

NAME = "Gatepost-Lease"
LEASE = OpenApiParameter(
    NAME,
    {"type": "string", "format": "uuid"},
    OpenApiParameter.HEADER,
    required=True,
    description="`token` of the lease under which you report.",
)
OPTIONAL_LEASE = OpenApiParameter(
    NAME,
    {"type": "string", "format": "uuid"},
    OpenApiParameter.HEADER,
    description="`token` of your lease, if you have one.",
)


def token_of(request: Request) -> UUID | None:
    """The lease that the header names; raises Malformed."""
    raw = request.headers.get(NAME, "").strip()
    if raw and not is_id(raw):
        raise Malformed(f"{NAME} takes the token of a lease.", path=NAME)
    return UUID(raw) if raw else None


class ExternalView(MemberView):
    """A call of an agent that works elsewhere."""

    changes = "work"
    counted_by = (REPORTS_ADDRESS, REPORTS_ACCOUNT)

    def now(self, thread_id: UUID) -> ThreadNow:
        """The thread as it stands."""
        return ThreadNow.of(thread_summary(thread_id, workspace=self.actor.workspace))


class LeasedView(ExternalView):
    """A call under a lease."""

    lease: UUID

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """The header is needed; the action looks whether it names the thread's lease."""
        super().initial(request, *args, **kwargs)
        if request.method != "POST":
            return
        token = token_of(request)
        if token is None:
            raise Malformed(f"{NAME} is missing: it takes the token of your lease.", path=NAME)
        self.lease = token

    def before_replay(self) -> None:
        """No former answer without the lease."""
        leases.lease_of(self.actor, self.kwargs["thread_id"], self.lease)

"""Shared base of the calls under a lease: its header, and the thread afterwards."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from checkpoints import queries
from dashboard.actions import external
from dashboard.api.protocol.base import MemberView
from dashboard.api.shapes.external_answers import ThreadNow
from dashboard.api.shapes.texts import is_id
from dashboard.errors import Malformed
from dashboard.identity.rate_limits import REPORTS_ACCOUNT, REPORTS_ADDRESS

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
        return ThreadNow.of(queries.thread(thread_id, workspace=self.actor.workspace))


class LeasedView(ExternalView):
    """A call under a lease."""

    lease: UUID

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """The lease is looked at first: nothing is answered from former calls without it."""
        super().initial(request, *args, **kwargs)
        if request.method != "POST":
            return
        token = token_of(request)
        if token is None:
            raise Malformed(f"{NAME} is missing: it takes the token of your lease.", path=NAME)
        external.lease_of(self.actor, kwargs["thread_id"], token)
        self.lease = token

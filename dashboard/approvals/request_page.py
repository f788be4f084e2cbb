"""The page of one request."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from approvals import queries as gates
from approvals.queries import ApprovalRow
from approvals.rules.votes import person
from checkpoints.errors import NotFound
from dashboard.fields.parameters import FLAG, TEXT
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import actor, live_page, show, wants_regions

from . import next_request as flow
from .request_reads import ApprovalPage
from .reviewers import Viewer

DETAIL = "approvals/request.html"
SEEN_HEADER = "X-Gatepost-Seen"  # the hash of the proposal that the page has shown


@require_safe
@live_page
@takes(exact=FLAG, lines=TEXT, **flow.LIST_PARAMETERS)
def approval(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """One request with everything a decision needs; notes that this person has it open.

    ?exact=1 has the JSON of the proposal also where it is long; ?lines= sorts lists by a column.
    """
    flow.note_look(request, approval_id)
    return show_request(request, approval_id)


def show_request(
    request: HttpRequest,
    approval_id: UUID,
    extra: dict[str, Any] | None = None,
    *,
    status: int = 200,
    seen: str = "",
) -> HttpResponse:
    """The page of a request, with what else an answer to a form shows."""
    page = page_for(request, approval_id, seen=seen or request.headers.get(SEEN_HEADER, ""))
    more: dict[str, Any] = {}
    if not wants_regions(request):
        more = flow.context(request, approval_id) | _context(request, page) | (extra or {})
    return show(request, page, DETAIL, more, status=status)


def page_for(request: HttpRequest, approval_id: UUID, *, seen: str = "") -> ApprovalPage:
    """The page of a request as this person sees it, who has looked at the proposal `seen`."""
    who = actor(request)
    opened = flow.opened_from(request)
    return ApprovalPage(
        who.workspace,
        approval_id,
        viewer=Viewer(who),
        seen=seen,
        opened=opened,
        wanted_next=request.GET.get(flow.NEXT, ""),
        exact=bool(request.GET.get("exact")),
        lines=request.GET.get("lines", ""),
    )


def _context(request: HttpRequest, page: ApprovalPage) -> dict[str, Any]:
    """The page's context beside its regions: the proposal seen, and a decision to take back."""
    held: ApprovalRow | None = None
    with suppress(ValueError, NotFound):
        if raw := request.GET.get(flow.HELD, ""):
            held = gates.approval(UUID(raw), workspace=page.workspace)
    if held is not None:
        mine = person(held.decided_by) == actor(request).person
        held = held if mine and held.status == "held" else None
    return {"seen": page.looked if page.approval.open else "", "held": held}

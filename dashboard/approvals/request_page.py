"""The page of one request."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from approvals import queries as gates
from approvals.queries import ApprovalRow
from approvals.rules.votes import person
from checkpoints.errors import NotFound
from dashboard.fields.parameters import FLAG, NUMBER, POINTER, TEXT
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import actor, live_page, number_in, show, wants_regions

from . import next_request as flow
from .long_texts import text_part
from .request_reads import ApprovalPage
from .reviewers import Viewer

DETAIL = "approvals/request.html"
SEEN_HEADER = "X-Gatepost-Seen"  # the hash of the proposal that the page has shown


@require_safe
@vary_on_headers("HX-Request")
@live_page
@takes(exact=FLAG, lines=TEXT, text=POINTER, start=NUMBER, **flow.LIST_PARAMETERS)
def approval(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """One request with everything a decision needs; notes that this person has it open.

    ?exact=1 has the JSON of the proposal also where it is long; ?lines= sorts lists by a column.
    ?text= is a very long text of the arguments, alone where a page asks for it to show it in place.
    """
    flow.note_look(request, approval_id)
    if request.GET.get("text") and "HX-Request" in request.headers:
        args = page_for(request, approval_id).approval.shown_args
        start = number_in(request.GET, "start") or 0
        return text_part(approval_id, args, request.GET["text"], start)
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
        whole_texts=bool(request.GET.get("text")),
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

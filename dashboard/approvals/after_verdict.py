"""The answer to a verdict: a message for its reviewer, and the next page."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse

from approvals import queries as gates
from approvals.queries import ApprovalRow
from approvals.rules.votes import person
from approvals.states import ALLOWING, ROLL_BACK, STOP
from checkpoints.errors import NotFound
from dashboard.views.base import SeeOther, actor, flash

from . import next_request as flow
from .request_page import ApprovalPage
from .reviewers import Viewer

_NEXT = {
    STOP: "The thread stops.",
    ROLL_BACK: "The thread stops, and what it did is undone, most recent first.",
}


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


def context(request: HttpRequest, page: ApprovalPage) -> dict[str, Any]:
    """The page's context beside its regions: the proposal seen, and a decision to take back."""
    held: ApprovalRow | None = None
    with suppress(ValueError, NotFound):
        if raw := request.GET.get(flow.HELD, ""):
            held = gates.approval(UUID(raw), workspace=page.workspace)
    if held is not None:
        mine = person(held.decided_by) == actor(request).person
        held = held if mine and held.status == "held" else None
    return {"seen": page.looked if page.approval.open else "", "held": held}


def onward(
    request: HttpRequest, row: ApprovalRow, text: str, following: flow.NextRequest | None
) -> SeeOther:
    """Back to the request, which stays under the finger that decided it, with the way onward.

    Its page leads to the next request of the list that it was opened from.
    """
    flash(request, text)
    address = reverse("approval", args=[row.id])
    if following is not None:
        address += f"?{following.page.trail}"
        if following.next is not None:
            address += f"&{flow.NEXT}={following.next}"
    return SeeOther(address)


def notice(page: ApprovalPage, row: ApprovalRow, verdict: str, void: int = 0) -> str:
    """The message on the next page after a verdict; `void` approvals became void by it."""
    parts = {
        "approve": ["Approved."],
        "edit": ["Your edit is recorded and counts as your approval."],
        "reject": ["Rejected. The agent gets your reason."],
        "respond": ["Answered. The thread continues."],
    }.get(verdict, ["Recorded."])
    if verdict == "respond" and row.kind != "question":
        return "Asked. The agent answers here; the request stays open meanwhile."
    if void:
        one = "1 approval so far is void"
        parts.append(f"{one if void == 1 else f'{void} approvals so far are void'}.")
    missing = page.progress.needed - page.progress.got
    if row.status == "pending" and missing > 0:
        parts.append(f"{missing} more {'is' if missing == 1 else 'are'} needed.")
    elif row.status == "held":
        parts.append(f"You can undo this for {page.progress.window} seconds.")
    elif verdict in ALLOWING:
        parts.append("The thread continues.")
    if verdict == "reject" and row.what_next in _NEXT:
        parts = ["Rejected.", _NEXT[row.what_next]]
    return " ".join(parts)

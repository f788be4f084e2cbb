"""The answer to a verdict: a message for its reviewer, and the next page."""

from __future__ import annotations

from django.http import HttpRequest
from django.urls import reverse

from approvals.queries import ApprovalRow
from approvals.states import ALLOWING, ROLL_BACK, STOP
from dashboard.kit.pages.base import SeeOther, flash

from . import next_request as flow
from .request_reads import ApprovalPage

_NEXT = {
    STOP: "The thread stops.",
    ROLL_BACK: "The thread stops, and what it did is undone, most recent first.",
}


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

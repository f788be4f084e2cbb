"""What a verdict led to, in a sentence for the person who gave it; and the page of a request."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest

from approvals.queries import ApprovalRow
from dashboard.pages.approvals import ApprovalPage
from dashboard.pages.standing import Viewer

from .base import actor

_NEXT = {
    "stop": "The thread stops.",
    "roll_back": "The thread stops, and what it did is undone, last first.",
}


def page_for(request: HttpRequest, approval_id: UUID, *, seen: str = "") -> ApprovalPage:
    """The page of a request as this person sees it, who has looked at the proposal `seen`."""
    who, user = actor(request), request.user
    teams = lambda: list(user.groups.values_list("name", flat=True))  # noqa: E731
    viewer = Viewer(who, user.get_username(), teams)
    return ApprovalPage(who.workspace, approval_id, viewer=viewer, seen=seen)


def said(page: ApprovalPage, row: ApprovalRow, verdict: str, void: int = 0) -> str:
    """What the next page says of a verdict that was recorded; `void` approvals it made void."""
    parts = {
        "approve": ["Approved."],
        "edit": ["Your edit is recorded and counts as your approval."],
        "reject": ["Rejected. The agent gets your reason."],
        "respond": ["Answered. The thread goes on."],
    }.get(verdict, ["Recorded."])
    if verdict == "respond" and row.kind != "question":
        return "Asked. The agent answers here; the request stays open meanwhile."
    if void:
        one = "1 approval so far is void"
        parts.append(f"{one if void == 1 else f'{void} approvals so far are void'}.")
    missing = page.standing.needed - page.standing.got
    if row.status == "pending" and missing > 0:
        parts.append(f"{missing} more {'is' if missing == 1 else 'are'} needed.")
    elif row.status == "held":
        parts.append(f"You can take it back for {page.standing.window} seconds.")
    elif verdict in ("approve", "edit"):
        parts.append("The thread goes on.")
    if verdict == "reject" and row.what_next in _NEXT:
        parts = ["Rejected.", _NEXT[row.what_next]]
    return " ".join(parts)

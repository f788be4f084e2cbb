"""The second question before an approval counts, as a page of its own."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from approvals.states import ALLOWING
from dashboard.html import differences
from dashboard.wording.parties import recognised

from .confirmation import NEVER_SENT_BACK
from .request_reads import ApprovalPage

PAGE: Final = "approvals/second_question.html"
_OURS: Final = (*NEVER_SENT_BACK, "verdict", "confirmed")


def verdict_in(request: HttpRequest) -> str:
    """The verdict that a form carries; `confirmed` has it once the second question is answered."""
    return request.POST.get("verdict") or request.POST.get("confirmed", "")


def ask(
    request: HttpRequest, page: ApprovalPage, verdict: str, args: Any = None
) -> HttpResponse | None:
    """The page that asks again before this verdict counts; None where it counts now.

    `args` are those of an edit. A request that is closed or has changed is refused, not asked for.
    """
    row = page.approval
    # An edit makes the other approvals void, so it is never the last of several.
    why = row.weight if verdict == "edit" else page.second_question
    asks = verdict in ALLOWING and why and row.open and not page.changed
    if not asks or request.POST.get("confirmed"):
        return None
    edits = None if args is None else differences.changes(args, row.shown_args, page.schema)
    context = {
        "approval": row,
        "what": recognised(row.shown_args if args is None else args),
        "looked": page.looked,
        "standing": page.progress,
        "second_question": why,
        "own_changes": edits.words if edits else "",
        "verdict": verdict,
        "trail": page.trail,
        "fields": [
            (name, value)
            for name, values in request.POST.lists()
            if name not in _OURS
            for value in values
        ],
    }
    return render(request, PAGE, context)

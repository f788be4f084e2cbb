"""One request, and the decision. A GET never decides."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from approvals.queries import ApprovalRow
from dashboard import actions, errors, fields
from dashboard.pages.approvals import ApprovalPage

from . import flow, forms
from .base import SeeOther, actor, live_page, say, show, wants_regions

DETAIL = "approval/detail.html"
SAID = {
    "approve": "Approved. The thread goes on.",
    "reject": "Rejected. The agent gets your reason.",
    "respond": "Answered. The thread goes on.",
}


@require_safe
@live_page
def approval(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """One request with everything a decision needs; notes that this person has it open."""
    flow.note_look(request, approval_id)
    return _page(request, approval_id)


def _page(
    request: HttpRequest,
    approval_id: UUID,
    extra: dict[str, Any] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    page = ApprovalPage(actor(request).workspace, approval_id)
    more = flow.context(request, approval_id) | (extra or {}) if not wants_regions(request) else {}
    return show(request, page, DETAIL, more, status=status)


@require_http_methods(["GET", "POST"])
@live_page
def decide(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """Record the verdict on the proposal that was seen; a refusal shows what stands now."""
    if request.method != "POST":
        if wants_regions(request):
            return _page(request, approval_id)
        return HttpResponseRedirect(reverse("approval", args=[approval_id]))
    page = ApprovalPage(actor(request).workspace, approval_id)
    way = flow.way(request, approval_id)  # before the request leaves its box
    verdict = request.POST.get("verdict", "")
    comment = request.POST.get("comment", "").replace("\r\n", "\n")
    args, problems = _answer(request, page.approval) if verdict == "respond" else (None, {})
    draft: dict[str, Any] = {"comment": comment}
    if problems:
        draft["answer_fields"] = _answer_fields(request, page.approval, problems)
        draft["notice"] = problems.get(forms.WHOLE, "")
        return _page(request, approval_id, draft, status=422)
    try:
        actions.decide(
            actor(request),
            approval_id,
            verdict,
            request.POST.get("proposal_hash", ""),
            comment,
            args,
        )
    except (errors.Forbidden, errors.Missing):
        raise
    except errors.ActionError as error:
        found = forms.problems_of(error)
        draft["comment_error"] = found.pop("comment", "")
        draft["notice"] = "" if draft["comment_error"] else error.detail
        return _page(request, approval_id, draft, status=error.status)
    if way is not None:
        return flow.onward(request, way, SAID.get(verdict, "Recorded."))
    say(request, SAID.get(verdict, "Recorded."))
    return SeeOther(reverse("approval", args=[approval_id]))


def _answer(request: HttpRequest, row: ApprovalRow) -> tuple[Any, dict[str, str]]:
    """(the answer to a question, {field or "": problem}); the gate judges it by its schema."""
    schema = row.schema if isinstance(row.schema, dict) else {}
    if "properties" in schema:
        return fields.parse(schema, {}, forms.posted(request), every=True)
    text = request.POST.get("answer", "").replace("\r\n", "\n")
    if not text.strip():
        return None, {forms.WHOLE: "Write an answer."}
    kinds = {"string": "text", "integer": "integer", "number": "number", "boolean": "bool"}
    kind = kinds.get(str(schema.get("type", "string")), "json")
    try:
        return fields.from_text(text, kind), {}
    except fields.Unreadable as error:
        return None, {forms.WHOLE: str(error)}


def _answer_fields(request: HttpRequest, row: ApprovalRow, problems: dict[str, str]) -> list[Any]:
    schema = row.schema if isinstance(row.schema, dict) else {}
    if "properties" not in schema:
        return []
    return fields.build(schema, {}, posted=forms.posted(request), errors=problems, compare=False)

"""The forms of a request's page that decide it and take that back. A GET never decides."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from approvals.rules.votes import person
from dashboard import errors
from dashboard.identity.permissions import require
from dashboard.kit.action import read
from dashboard.kit.pages import forms
from dashboard.kit.pages.base import SeeOther, actor, flash, live_page, wants_regions
from dashboard.kit.shapes.requests import Nothing

from . import after_verdict, confirmation, second_question
from . import edit as editing
from . import next_request as flow
from .after_verdict import notice
from .answer import answer_fields, read_answer
from .decide import DECIDE, Decide
from .request_page import page_for, show_request
from .take_back import TAKE_BACK


@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
@live_page
def decide(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """Record the verdict on the proposal that was seen; a refusal shows what stands now."""
    if request.method != "POST":
        return _again(request, approval_id)
    require(actor(request), "decide")
    seen = request.POST.get("proposal_hash", "")
    page = page_for(request, approval_id, seen=seen)
    following = flow.next_request(request, approval_id)  # before the request leaves its box
    verdict = second_question.verdict_in(request)
    if verdict == "edit":
        return editing.send(request, page, following)
    comment = request.POST.get("comment", "").replace("\r\n", "\n")
    answers = verdict == "respond" and page.approval.kind == "question"
    texts = forms.posted(request)
    args, problems = read_answer(page.approval.schema, texts) if answers else (None, {})
    what_next = request.POST.get("what_next", "") if verdict == "reject" else ""
    draft: dict[str, Any] = {"comment": comment, "what_next": what_next}
    if problems:
        draft["answer_fields"] = answer_fields(page.approval.schema, texts, problems)
        draft["notice"] = problems.get(forms.WHOLE, "")
        return show_request(request, approval_id, draft, status=422)
    try:
        if question := second_question.ask(request, page, verdict):
            return question
        who = confirmation.confirmed(request)
        sent = {
            "verdict": verdict,
            "proposal_hash": seen,
            "comment": comment,
            "args": args,
            "what_next": what_next,
        }
        row = DECIDE.run(who, read(Decide, sent), approval_id)
    except errors.Missing:
        raise
    except errors.ActionError as error:
        result = forms.problems_of(error)
        draft["comment_error"] = result.pop("comment", "")
        # What the person looked at is shown beside what stands now; nobody can approve by mistake.
        late = isinstance(error, errors.AlreadyDecided)
        before = seen if late or isinstance(error, errors.ProposalChanged) else ""
        # Who was first is said by the page itself, beside the kept note; not of oneself.
        first = error.facts["approval"].decided_by if late else ""
        by_other = late and person(first) != actor(request).person
        draft |= (asks := confirmation.needed(request, error))
        draft["notice"] = "" if draft["comment_error"] or by_other or asks else error.detail
        return show_request(request, approval_id, draft, status=error.status, seen=before)
    payload = notice(page_for(request, approval_id), row, verdict)
    return after_verdict.onward(
        request, row, payload, None if row.open and verdict == "respond" else following
    )


@require_http_methods(["GET", "POST"])
@live_page
def take_back(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """Take one's own decision back while it is held."""
    if request.method != "POST":
        return _again(request, approval_id)
    try:
        TAKE_BACK.run(actor(request), Nothing(), approval_id)
    except errors.Missing:
        raise
    except errors.ActionError as error:
        return show_request(request, approval_id, {"notice": error.detail}, status=error.status)
    flash(request, "Undone. Nothing was done; the request is open again.")
    return SeeOther(reverse("approval", args=[approval_id]))


def _again(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """A reload of an answer leads to the request; the polls of that answer find its regions."""
    if wants_regions(request):
        return show_request(request, approval_id)
    return HttpResponseRedirect(reverse("approval", args=[approval_id]))

"""The form over an effect that needs a person: posted from the thread's page, or by its address."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from checkpoints import queries
from checkpoints.verdicts import Verdict
from dashboard import errors
from dashboard.identity.permissions import allowed_actions, require
from dashboard.kit.action import read
from dashboard.kit.pages import forms
from dashboard.kit.pages.base import SeeOther, actor, flash, member, refused, thread_url, version_of
from dashboard.threads.page.effect_question import effect_question_of, inputs_of
from dashboard.threads.settle import SETTLE, result_given


@require_http_methods(["GET", "POST"])
@member
def settle(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """Answer what the thread asks; what is refused comes back with what was written."""
    who = actor(request)
    require(who, "settle")
    thread = queries.thread(thread_id, workspace=who.workspace)
    text = request.POST.get("f-result", "null")
    reason = request.POST.get("f-reason", "").strip()

    def form(problems: dict[str, str], status: int) -> HttpResponse:
        effect_question = effect_question_of(thread)
        fields = (
            inputs_of(effect_question.question, result=text, reason=reason, errors=problems)
            if effect_question
            else ()
        )
        context = {
            "thread": thread,
            "effect_question": effect_question,
            "fields": fields,
            "errors": problems,
        }
        return render(request, "threads/settle.html", context, status=status)

    if request.method != "POST":
        allowance = allowed_actions(who, thread)["settle"]
        if not allowance.allowed:
            refusal = errors.NotAllowedNow(allowance.why)
            return refused(request, refusal, back=thread_url(thread.id))
        return form({}, 200)
    try:
        verdict = request.POST.get("verdict", "")
        fields = {"activity": _activity(request), "verdict": verdict, "reason": reason}
        if verdict == Verdict.HAPPENED:
            fields["result"] = result_given(text)
        wanted = read(SETTLE.takes, fields)
        status = SETTLE.run(who, wanted, thread.id, expected_version=version_of(request))
    except (errors.Forbidden, errors.Missing, errors.NeedsSecondPerson):
        raise
    except errors.ActionError as error:
        thread = queries.thread(thread_id, workspace=who.workspace)
        return form(forms.problems_of(error), error.status)
    flash(request, SETTLE.done(wanted, status))
    return SeeOther(thread_url(thread.id))


def _activity(request: HttpRequest) -> UUID:
    try:
        return UUID(request.POST.get("activity", ""))
    except ValueError:
        raise errors.Malformed("The form does not name an effect.") from None

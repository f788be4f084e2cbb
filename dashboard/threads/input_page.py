"""The form of a message for the next step."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from checkpoints import queries
from dashboard import errors
from dashboard.fields import form as fields
from dashboard.fields import message as inbox
from dashboard.identity.permissions import allowed_actions
from dashboard.kit.pages import forms
from dashboard.kit.pages.base import SeeOther, actor, flash, member, refused, thread_url
from dashboard.threads.input import INPUT, SendInput

from .checkpoint_forms import form_page, thread_for


@form_page
@member
def send_input(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """A message for the next step; one that is refused comes back with what was written."""
    who, thread = actor(request), thread_for(request, "input", thread_id)
    version = queries.agent_version(thread.agent_version_id)
    text = request.POST.get(fields.PREFIX + inbox.NAME, "")

    def form(problem: str, status: int, *, beside: bool = True) -> HttpResponse:
        field = inbox.message_field(
            version, text=text or None, error=problem if beside and problem else ""
        )
        context = {
            "thread": thread,
            "field": field,
            "fields": [field],
            "errors": {} if beside else {forms.WHOLE: problem},
        }
        return render(request, "threads/input.html", context, status=status)

    allowance = allowed_actions(who, thread)["input"]
    if request.method != "POST":
        if not allowance.allowed:
            refusal = errors.NotAllowedNow(allowance.why)
            return refused(request, refusal, back=thread_url(thread.id))
        return form("", 200)
    message, problem = inbox.message_of(version, text)
    if problem and allowance.allowed:
        return form(problem, 422)
    try:
        INPUT.run(who, SendInput(message=message), thread.id)
    except (errors.Forbidden, errors.Missing, errors.NeedsSecondPerson):
        raise
    except errors.Invalid as error:
        return form(errors.rooted(f"{error.path}: {error.reason}", ""), error.status)
    except errors.ActionError as error:
        return form(error.detail, error.status, beside=False)
    flash(request, "Sent. The next step will use it.")
    return SeeOther(thread_url(thread.id))

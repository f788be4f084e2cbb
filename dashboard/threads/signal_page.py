"""The form of a signal sent by hand: which wait it is for, and what that wait answers."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from checkpoints.limits import NAME_MAX
from checkpoints.queries.why import awaited_signals
from dashboard import errors
from dashboard.fields.one_value import has_members, read_value, value_fields
from dashboard.fields.parameters import text_of
from dashboard.identity.permissions import allowed_actions
from dashboard.kit.action import read
from dashboard.kit.inputs import declared
from dashboard.kit.pages import forms
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, flash, member, refused, thread_url, version_of

from .checkpoint_forms import form_page, thread_for
from .signal import SIGNAL, SendSignal

VALUE: Final = "value"  # the input of a value that has no inputs for its members
NAME: Final = text_of(NAME_MAX)
NOT_AWAITED: Final = "The thread no longer waits for this signal. Nothing was sent."


@form_page
@member
@takes(name=NAME)
def signal(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """Send a signal to the wait of a name: by the inputs of its schema, else as JSON.

    A thread that waits for none takes any name and any value, for later.
    """
    who, thread = actor(request), thread_for(request, "signal", thread_id)
    allowance = allowed_actions(who, thread)["signal"]
    if not allowance.allowed:
        return refused(request, errors.NotAllowedNow(allowance.why), back=thread_url(thread.id))
    awaited = awaited_signals(thread)
    is_sent = request.method == "POST"
    texts = forms.posted(request) if is_sent else {}
    name = texts.get("name", "") if is_sent else request.GET.get("name", "")
    if awaited and not is_sent and name not in awaited:
        name = next(iter(awaited))
    # JSON that was written before the wait began is read as JSON.
    schema = None if VALUE in texts and has_members(awaited.get(name)) else awaited.get(name)

    def form(problems: dict[str, str], status: int) -> HttpResponse:
        if name in awaited:
            fields = value_fields(schema, VALUE, "Value", texts, problems)
        else:
            texts.setdefault("name", name)
            fields = [*declared(SendSignal, ["name", VALUE], texts, problems).values()]
        context = {
            "thread": thread,
            "awaited": [*awaited],
            "name": name if name in awaited else "",
            "version": texts.get("version", thread.version) if name in awaited else "",
            "fields": fields,
            "errors": problems,
        }
        return render(request, "threads/signal.html", context, status=status)

    if not is_sent:
        return form({}, 200)
    if VALUE not in texts and not has_members(schema):
        return form({forms.WHOLE: NOT_AWAITED}, 409)
    value, problems = read_value(schema, VALUE, texts)
    if problems:
        return form(problems, 422)
    try:
        wanted = read(SendSignal, {"name": name, "value": value})
        seq = SIGNAL.run(who, wanted, thread.id, expected_version=version_of(request))
    except (errors.Forbidden, errors.Missing, errors.NeedsSecondPerson):
        raise
    except errors.ActionError as error:
        return form(_beside(error, schema), error.status)
    flash(request, SIGNAL.done(wanted, seq))
    return SeeOther(thread_url(thread.id))


def _beside(error: errors.ActionError, schema: Any) -> dict[str, str]:
    """{input: sentence} of a refusal; that of a value without inputs for its members beside it."""
    if has_members(schema):
        return forms.problems_of(error, schema)
    problems = forms.problems_of(error)
    if isinstance(error, errors.Invalid) and error.within == VALUE:
        problems[VALUE] = problems.pop(forms.WHOLE)
    return problems

"""The page of a counterfactual: another output for one finished call, then both compared."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from checkpoints.limits import TITLE_MAX
from checkpoints.views import ThreadRow
from dashboard import errors
from dashboard.fields import form as fields
from dashboard.fields.shapes import ForkPreview
from dashboard.fields.state_text import SHOWN_BYTES
from dashboard.kit.inputs import declared
from dashboard.kit.pages import forms
from dashboard.kit.pages.base import SeeOther, actor, flash
from dashboard.threads.checkpoint_forms import ahead_of
from dashboard.threads.fork import Fork, checkpoint_before, exchangeable, fork, preview_fork
from dashboard.threads.state_form import Budget

OUTPUT = "output"


@errors.translated()
def counterfactual(request: HttpRequest, thread: ThreadRow, call_id: UUID) -> HttpResponse:
    """A fork before the step of a call, in which the call has the output that is typed."""
    who = actor(request)
    call = exchangeable(thread, call_id)
    target = checkpoint_before(call)
    kind = "textarea" if isinstance(call.result, str) else "json"
    shown = fields.to_text(call.result, kind)
    is_large = len(shown) > SHOWN_BYTES
    text = request.POST.get(OUTPUT, "" if is_large else shown)
    suggested = f"{thread.title} (what if)"[:TITLE_MAX]
    title = request.POST.get("title", suggested).strip()
    reason = forms.text(request, "reason")
    budget = Budget.of(request)

    def form(problems: dict[str, str], status: int) -> HttpResponse:
        plan = preview_fork(who, thread.id, target.id, instead_of=call.id, output=call.result)
        context = {
            "thread": thread,
            "checkpoint": target,
            "call": call,
            "output": text,
            "is_text": kind == "textarea",
            "is_large": is_large,
            "declared": declared(
                *(Fork, ["title", "reason"], request.POST.dict(), problems),
                opened={"title": suggested},
            ),
            "budget": budget,
            "preview": ForkPreview(**ahead_of(plan.expected), first_effect=plan.first_effect),
            "errors": problems,
        }
        return render(request, "threads/counterfactual.html", context, status=status)

    if request.method != "POST":
        return form({}, 200)
    limits, problems = budget.read()
    output: Any = None
    if is_large and not text.strip():
        problems[OUTPUT] = "Write another output; the recorded one is too large to be edited here."
    try:
        untouched = fields.same_text(text, shown, kind)
        output = call.result if untouched else fields.from_text(text, kind)
    except fields.Unreadable as error:
        problems.setdefault(OUTPUT, str(error))
    if problems:
        return form(problems, 422)
    try:
        new_thread = fork(
            *(who, thread.id, target.id, None, title, "ask", reason),
            budget=limits or None,
            instead_of=call.id,
            output=output,
        )
    except (errors.Forbidden, errors.Missing, errors.NeedsSecondPerson):
        raise
    except errors.ActionError as error:
        return form(_beside(forms.problems_of(error)), error.status)
    flash(request, "Forked with the other output. Compare shows whether the ending flips.")
    return SeeOther(f"{reverse('compare')}?left={thread.id}&right={new_thread}")


def _beside(problems: dict[str, str]) -> dict[str, str]:
    """Problems of the output beside its input, which requests call `instead_of.output`."""
    words = problems.pop("instead_of", "").removeprefix("output: ")
    return problems | ({OUTPUT: words[:1].upper() + words[1:]} if words else {})

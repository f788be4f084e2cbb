"""Skip a node of a stopped thread: which one and why; then the deed."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from checkpoints import queries
from dashboard import actions, errors
from dashboard.actions.stopped.skips import skippable
from dashboard.identity.permissions import require
from dashboard.views import forms
from dashboard.views.base import SeeOther, actor, flash, member, refused, thread_url, version_of


@require_http_methods(["GET", "POST"])
@member
def skip(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """Go past one node; a refusal comes back with what was written."""
    who = actor(request)
    require(who, "skip")
    thread = queries.thread(thread_id, workspace=who.workspace)
    node = request.POST.get("node", "")
    reason = request.POST.get("reason", "").strip()

    def form(problems: dict[str, str], status: int) -> HttpResponse:
        version = queries.agent_version(thread.agent_version_id)
        labels = {n["name"]: n.get("label") or n["name"] for n in version.graph.get("nodes", ())}
        nodes = [(name, labels.get(name, name)) for name in skippable(thread, version)]
        context = {
            "thread": thread,
            "nodes": nodes,
            "chosen": node or (nodes[0][0] if nodes else ""),
            "effects": [
                one
                for one in queries.step_activities(
                    thread.id, branch=thread.branch, step=thread.step + 1
                )
                if one.kind == "effect" and one.state == "done"
            ],
            "reason": reason,
            "errors": problems,
        }
        return render(request, "thread/actions/skip.html", context, status=status)

    allowance = actions.allowed_actions(who, thread)["skip"]
    if not allowance.allowed:
        return refused(request, errors.NotAllowedNow(allowance.why), back=thread_url(thread.id))
    if request.method != "POST":
        return form({}, 200)
    try:
        status = actions.skip(who, thread.id, node, reason, expected_version=version_of(request))
    except (errors.Forbidden, errors.Missing, errors.NeedsSecondPerson):
        raise
    except errors.ActionError as error:
        return form(forms.problems_of(error), error.status)
    after = "Resume it to continue." if status == "paused" else "The thread continues without it."
    flash(request, f"Skipped {node}. {after}")
    return SeeOther(thread_url(thread.id))

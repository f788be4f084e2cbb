"""Pause and resume of a thread that has children: whether they are reached is asked first."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from checkpoints import queries
from dashboard.identity.permissions import allowed_actions, reachable
from dashboard.kit.inputs import declared
from dashboard.kit.pages.base import SeeOther, actor, next_url, thread_url, wants_regions
from dashboard.threads.pause import Pause
from dashboard.wording.interruptions import children_words


def choice(request: HttpRequest, thread_id: UUID, verb: str) -> HttpResponse | None:
    """The dialog with the choice, or the way there; None where there is none or it was made."""
    if wants_regions(request) or "chosen" in request.POST or "past" in request.POST:
        return None
    if request.POST.get("before_node"):  # that pause reaches this thread alone
        return None
    who = actor(request)
    thread = queries.thread(thread_id, workspace=who.workspace)
    if not allowed_actions(who, thread)[verb].allowed:
        return None
    below = children_words(reachable(queries.below(thread.id), verb))
    if not below:
        return None
    if request.method == "POST":
        back = next_url(request, "")
        query = f"?{urlencode({'next': back})}" if back else ""
        return SeeOther(reverse(f"thread_{verb}", args=[thread.id]) + query)
    context = {
        "thread": thread,
        "verb": verb,
        "below": below,
        "declared": declared(Pause, ["reason"], {}, {}),
        "next": request.GET.get("next", "") or thread_url(thread.id),
    }
    return render(request, "threads/children.html", context)

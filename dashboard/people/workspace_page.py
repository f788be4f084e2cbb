"""Choosing the workspace to act in, for people who belong to several."""

from __future__ import annotations

from functools import partial

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from dashboard import errors
from dashboard.identity.signed_in import WORKSPACE
from dashboard.kit.pages.base import SeeOther, actor, flash, member, next_url
from dashboard.wire import hints


@require_POST
@partial(member, chooses=True)
def choose(request: HttpRequest) -> HttpResponse:
    """Act in another workspace from now on, in all windows of this login."""
    wanted = request.POST.get("workspace", "")
    for ident, name in actor(request).places:
        if str(ident) == wanted:
            request.session[WORKSPACE] = wanted
            request.session.save()  # before its other windows are looked at
            hints.logins_changed([str(request.session.session_key)])
            flash(request, f"You are in the workspace {name} now.")
            return SeeOther(next_url(request, "/"))
    raise errors.Missing("You aren't a member of that workspace.")

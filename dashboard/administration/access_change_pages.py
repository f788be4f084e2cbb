"""Changes of what people may do: what waits for a second admin, confirmed or refused."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from dashboard.administration import hooks
from dashboard.identity.people import people
from dashboard.identity.permissions import may
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, flash, member
from dashboard.kit.shapes.requests import Nothing
from dashboard.people.access_decisions import CONFIRM, REFUSE
from dashboard.people.accounts.access_changes import list_access_changes, may_confirm

HOME = "access_changes"


@require_GET
@member
@takes()
def index(request: HttpRequest) -> HttpResponse:
    """List the words of hooks that stand for the person; for auditors and admins all changes."""
    who = actor(request)
    oversees = not who.roles.isdisjoint(("auditor", "admin"))
    rows = list_access_changes(who) if oversees else []
    names = people({row.asked_by for row in rows} | {row.decided_by for row in rows})
    shown: list[dict[str, Any]] = [
        {
            "row": row,
            "asked_by": names.get(row.asked_by, row.asked_by),
            "decided_by": names.get(row.decided_by, row.decided_by),
            "may_confirm": may_confirm(who, row),
            "own": row.asked_by.partition("/")[0] == who.person,
        }
        for row in rows
    ]
    waiting = [one for one in shown if one["row"].state == "waiting"]
    context = {
        "waiting": waiting,
        "ended": [one for one in shown if one not in waiting],
        "may_decide": may(who, "access"),
        "oversees": oversees,
        "identities": hooks.own_identities(who).results,
    }
    return render(request, "administration/access_changes.html", context)


@require_POST
@member
def confirm(request: HttpRequest, change_id: UUID) -> HttpResponse:
    """Carry out what another admin asked for."""
    row = CONFIRM.run(actor(request), Nothing(), change_id)
    flash(request, CONFIRM.done(Nothing(), row))
    return SeeOther(reverse(HOME))


@require_POST
@member
def refuse(request: HttpRequest, change_id: UUID) -> HttpResponse:
    """Let it not happen."""
    row = REFUSE.run(actor(request), Nothing(), change_id)
    flash(request, REFUSE.done(Nothing(), row))
    return SeeOther(reverse(HOME))


vars(confirm)["action"], vars(refuse)["action"] = CONFIRM, REFUSE

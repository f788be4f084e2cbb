"""The list of incidents, and one with its newest threads."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from approvals.incidents.queries import STATES
from approvals.notify.texts.incident_kinds import BREAKER, NEWEST_SHOWN, TROUBLES
from checkpoints import queries
from dashboard.actions.fleet import incidents
from dashboard.fields.parameters import ID, TEXT, one_of
from dashboard.identity.people import people
from dashboard.identity.permissions import may
from dashboard.pages.parts.incidents import ALL, OPEN, IncidentsPage
from dashboard.views.addresses import takes
from dashboard.views.base import actor, live_page, member, show, wants_regions
from dashboard.wording.fleet.incidents import LOOKS, STATE_WORDS, title

LIST = "incident/list.html"
SNOOZES = ((1, "1 hour"), (4, "4 hours"), (24, "1 day"), (72, "3 days"), (168, "1 week"))


@require_safe
@live_page
@takes(state=one_of((*STATES, ALL)), kind=one_of(TROUBLES), agent=TEXT, cursor=ID)
def index(request: HttpRequest) -> HttpResponse:
    """Open incidents; ?state= &kind= &agent= choose others, &cursor= goes on."""
    who = actor(request)
    cursor = request.GET.get("cursor", "")
    page = IncidentsPage(
        who.workspace,
        state=request.GET.get("state", "") or OPEN,
        kind=request.GET.get("kind", ""),
        agent=request.GET.get("agent", "").strip(),
        after=UUID(cursor) if cursor else None,
    )
    extra: dict[str, Any] = {}
    if not wants_regions(request):
        extra = {
            "states": [
                (word, page.address(state=one), one == page.state)
                for one, word in (*((s, STATE_WORDS[s][0]) for s in STATES), (ALL, "All"))
            ],
            "state": page.state,
            "kind": page.kind,
            "kinds": [(one, LOOKS[one].word) for one in TROUBLES],
            "agent": page.agent,
            "agents": sorted({one.agent for one in queries.agents(workspace=who.workspace)}),
        }
    return show(request, page, LIST, extra)


@require_safe
@member
def detail(request: HttpRequest, incident_id: UUID) -> HttpResponse:
    """One incident: why, how many, who takes care of it, its newest threads."""
    who = actor(request)
    row, newest = incidents.one_incident(who, incident_id)
    known = people({one for one in (row.taken_by, row.snoozed_by, row.closed_by) if one})
    context = {
        "incident": row,
        "title": title(row),
        "look": LOOKS[row.kind],
        "state": STATE_WORDS[row.state],
        "people": known,
        "newest": newest,
        "shown": NEWEST_SHOWN,
        "threads": row.kind != BREAKER,
        "may_handle": may(who, "incident") and row.closed_at is None,
        "mine": row.taken_by == who.person,
        "snoozes": SNOOZES,
    }
    return render(request, "incident/detail.html", context)

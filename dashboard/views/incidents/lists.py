"""The list of incidents, and one with its newest threads."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from approvals.incidents.queries import STATES
from approvals.notify.texts.incident_kinds import BREAKER, NEWEST_SHOWN, TROUBLES
from checkpoints import queries
from dashboard.actions.fleet import incidents
from dashboard.fields.parameters import ID, TEXT, one_of
from dashboard.identity.people import people
from dashboard.identity.permissions import may
from dashboard.views.addresses import takes
from dashboard.views.base import actor, member
from dashboard.wording.fleet.incidents import LOOKS, STATE_WORDS, title

ROWS = 50
ALL = "all"
SNOOZES = ((1, "1 hour"), (4, "4 hours"), (24, "1 day"), (72, "3 days"), (168, "1 week"))


@require_safe
@member
@takes(state=one_of((*STATES, ALL)), kind=one_of(TROUBLES), agent=TEXT, cursor=ID)
def index(request: HttpRequest) -> HttpResponse:
    """Open incidents; ?state= &kind= &agent= choose others, &cursor= goes on."""
    who = actor(request)
    state = request.GET.get("state", "") or "open"
    kind, agent = request.GET.get("kind", ""), request.GET.get("agent", "").strip()
    cursor = request.GET.get("cursor", "")
    rows, last = incidents.list_incidents(
        who,
        state="" if state == ALL else state,
        kind=kind,
        agent=agent,
        after=UUID(cursor) if cursor else None,
        limit=ROWS,
    )

    def address(**other: str) -> str:
        words = {"state": state, "kind": kind, "agent": agent} | other
        return f"{reverse('incidents')}?{urlencode({k: v for k, v in words.items() if v})}"

    context = {
        "rows": [(row, title(row), LOOKS[row.kind], STATE_WORDS[row.state]) for row in rows],
        "people": people({row.taken_by for row in rows if row.taken_by}),
        "states": [
            (word, address(state=one), one == state)
            for one, word in (*((s, STATE_WORDS[s][0]) for s in STATES), (ALL, "All"))
        ],
        "state": state,
        "kind": kind,
        "kinds": [(one, LOOKS[one].word) for one in TROUBLES],
        "agent": agent,
        "agents": sorted({one.agent for one in queries.agents(workspace=who.workspace)}),
        "more": address(cursor=str(last)) if last else "",
        "narrowed": bool(kind or agent or state != "open"),
    }
    return render(request, "incident/list.html", context)


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

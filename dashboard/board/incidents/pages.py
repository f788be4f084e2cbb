"""The list of incidents, and one with its newest threads."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from approvals.incidents.queries import STATES
from approvals.notify.texts.incident_kinds import TROUBLES
from checkpoints import queries
from dashboard.fields.parameters import ID, TEXT, one_of
from dashboard.identity.permissions import may
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import actor, live_page, show, wants_regions
from dashboard.wording.fleet.incidents import LOOKS, STATE_WORDS

from .incident_reads import IncidentPage
from .list_reads import ALL, OPEN, IncidentsPage

LIST, DETAIL = "board/incidents/list.html", "board/incidents/detail.html"


@require_safe
@live_page
@takes(state=one_of((*STATES, ALL)), kind=one_of(TROUBLES), agent=TEXT, cursor=ID)
def index(request: HttpRequest) -> HttpResponse:
    """Open incidents; ?state= &kind= &agent= choose others, &cursor= continues."""
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
@live_page
def detail(request: HttpRequest, incident_id: UUID) -> HttpResponse:
    """One incident: why, how many, who takes care of it, its newest threads."""
    who = actor(request)
    page = IncidentPage(who.workspace, incident_id, who.person)
    extra = {"may_handle": may(who, "incident") and page.row.closed_at is None}
    return show(request, page, DETAIL, extra)

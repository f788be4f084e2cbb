"""The list of incidents, and one with its newest threads."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from checkpoints import queries
from dashboard.board.filters.incidents import INCIDENTS
from dashboard.fields.filters import PAGE, form_inputs, given_at, page_values
from dashboard.fields.parameters import ID
from dashboard.identity.permissions import may
from dashboard.kit.inputs import declared
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import actor, live_page, show, wants_regions

from .close import CloseIncident
from .incident_reads import IncidentPage
from .list_reads import USUAL, IncidentsPage

FILTERS = given_at(INCIDENTS, PAGE)
LIST, DETAIL = "board/incidents/list.html", "board/incidents/detail.html"


@require_safe
@live_page
@takes(**page_values(INCIDENTS), cursor=ID)
def index(request: HttpRequest) -> HttpResponse:
    """Open incidents; its filters choose others, &cursor= continues."""
    who = actor(request)
    texts = {one.name: request.GET.get(one.name, "").strip() for one in FILTERS}
    texts = USUAL | {name: text for name, text in texts.items() if text}
    cursor = request.GET.get("cursor", "")
    page = IncidentsPage(who.workspace, texts, after=UUID(cursor) if cursor else None)
    extra: dict[str, Any] = {}
    if not wants_regions(request):
        agents = sorted({one.agent for one in queries.agents(workspace=who.workspace)})
        (state,) = (one for one in FILTERS if one.name == "state")
        extra = {
            "states": [
                (word, page.address(state=one), one == texts["state"])
                for one, word in state.kind.choices.items()
            ],
            "state": texts["state"],
            "inputs": form_inputs(FILTERS, texts, {"agent": {name: name for name in agents}}),
        }
    return show(request, page, LIST, extra)


@require_safe
@live_page
def detail(request: HttpRequest, incident_id: UUID) -> HttpResponse:
    """One incident: why, how many, who takes care of it, its newest threads."""
    who = actor(request)
    page = IncidentPage(who.workspace, incident_id, who.person)
    extra = {
        "may_handle": may(who, "incident") and page.row.closed_at is None,
        "declared": declared(CloseIncident, ["reason"], {}, {}),
    }
    return show(request, page, DETAIL, extra)

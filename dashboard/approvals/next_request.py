"""Paths through a box: from the inbox to a request, and after its decision to the next one.

The address of a request carries the list that it was opened from (`?box=mine&sort=age`), so two
windows with different boxes do not disturb each other, and a reload shows the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest

from approvals import gates
from approvals.inbox.boxes import SORTS
from dashboard.fields.filters import page_values
from dashboard.fields.parameters import ID, Values, one_of
from dashboard.identity.permissions import may
from dashboard.identity.seats import person_of
from dashboard.kit.pages.base import actor, wants_regions

from .filters import REQUESTS
from .inbox import BOX, InboxPage, page_from

HELD: Final = "held"  # names in an address what its reader decided on the page before
NEXT: Final = "following"  # names in an address the request that came after it in its list
# A list, and what the address of a request carries of the list that it was opened from.
LIST_PARAMETERS: Final[dict[str, Values]] = {
    **page_values(REQUESTS),
    "sort": one_of(SORTS),
    HELD: ID,
    NEXT: ID,
}


@dataclass(frozen=True, slots=True)
class NextRequest:
    """The next request of the box after a decision, and how many are left."""

    page: InboxPage
    next: UUID | None
    left: int


def opened_from(request: HttpRequest) -> InboxPage | None:
    """The list that the request's address carries; None if it carries none."""
    if "box" not in request.GET:
        return None
    who = actor(request)
    return page_from(who.workspace, person_of(who), request.GET)


def context(request: HttpRequest, approval_id: UUID) -> dict[str, Any]:
    """The page's context for its list: the request's position and the query of its links."""
    page = opened_from(request)
    shown = page or InboxPage(actor(request).workspace, sort="age")
    return {
        "position": shown.position(approval_id),
        "trail": page.trail if page else "",
        "box_query": page.query(cursor="") or f"box={BOX}" if page else "",
    }


def next_request(request: HttpRequest, approval_id: UUID) -> NextRequest | None:
    """Find the next request in the list that this one was opened from; None if from no list."""
    page = opened_from(request)
    return NextRequest(page, *page.following(approval_id)) if page is not None else None


def note_look(request: HttpRequest, approval_id: UUID) -> None:
    """Note the first look of somebody who may decide; a poll for regions is no look."""
    who = actor(request)
    if request.method == "GET" and not wants_regions(request) and may(who, "decide"):
        gates.note_look(approval_id, workspace=who.workspace, person=who.person)

"""The inbox, and how reviewers do."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from approvals.inbox import boxes as inbox_floor
from approvals.inbox import reviewers
from approvals.inbox import rows as inbox_rows
from dashboard import errors
from dashboard.fields.filters import form_inputs
from dashboard.fields.parameters import CURSOR, ID
from dashboard.identity.administrator import AUDIT
from dashboard.identity.people import people
from dashboard.identity.permissions import may
from dashboard.identity.seats import person_of
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import actor, live_page, member, show, wants_regions
from dashboard.wording import sentences_of_decisions

from .filters import REQUESTS
from .inbox import InboxPage, page_from
from .next_request import LIST_PARAMETERS

LIST, LOAD = "approvals/inbox.html", "approvals/reviewers.html"


@require_safe
@live_page
@takes(**LIST_PARAMETERS, cursor=CURSOR)
def inbox(request: HttpRequest) -> HttpResponse:
    """The inbox: ?box= mine, team, due, high, open or done; &sort= risk, age or deadline.

    &agent=, &framework= and &q= narrow it, &alike= shows the equals of a request; &cursor= pages.
    """
    who = actor(request)
    page = page_from(
        who.workspace, person_of(who), request.GET, cursor=request.GET.get("cursor", "")
    )
    extra: dict[str, Any] = {}
    if not wants_regions(request):
        extra = {
            "page": page,
            "sorts": [
                {"name": name, "word": word, "query": page.query(sort=name, cursor="") or "sort="}
                for name, word in (("risk", "Risk"), ("age", "Age"), ("deadline", "Deadline"))
            ],
            "sort": page.sort,
            "inputs": form_inputs(REQUESTS, page.texts, _known(page)),
            "here": request.get_full_path(),
            "habit": _habit(request),
        }
    return show(request, page, LIST, extra)


def _known(page: InboxPage) -> dict[str, dict[str, str]]:
    """{filter: the words that its select offers}."""
    known = {"agent": page.agents, "framework": page.frameworks}
    return {name: {word: word for word in words} for name, words in known.items()}


def _habit(request: HttpRequest) -> reviewers.Habit | None:
    """The asking person's own habits, where they are worth a word."""
    who = actor(request)
    if not may(who, "decide"):
        return None
    result = reviewers.habit(who.workspace, who.person)
    return result if result is not None and result.worth_a_word else None


@require_safe
@member
@takes({"id": ID})
def ended(request: HttpRequest) -> HttpResponse:
    """Outcomes of requests that left somebody's list: ?id= as often as needed.

    {"ended": {id: a few words}}, without those that are still open; 100 at most.
    """
    ids = [UUID(text) for text in request.GET.getlist("id") if text]
    if len(ids) > inbox_floor.ROWS:
        raise errors.Invalid("$.id", f"is given more than {inbox_floor.ROWS} times")
    rows = inbox_rows.rows(ids, workspace=actor(request).workspace).values()
    words = {
        str(row.id): sentences_of_decisions.ended(
            status=row.status, outcome=row.outcome, by_name=row.decided_by_name
        )
        for row in rows
        if not row.open
    }
    return JsonResponse({"ended": words})


@require_safe
@member
@takes()
def load(request: HttpRequest) -> HttpResponse:
    """Open requests by reviewer, and how long reviewers take; who decides unseen, for auditors."""
    who = actor(request)
    oversees = not AUDIT.isdisjoint(who.roles)
    habits = reviewers.habits(who.workspace)
    waiting = reviewers.load(who.workspace)
    many = sum(one.waiting for one in waiting) >= reviewers.WAITING_CAP
    return render(
        request,
        LOAD,
        {
            "waiting": waiting,
            "habits": habits,
            "oversees": oversees,
            "worth": [habit for habit in habits if habit.worth_a_word] if oversees else [],
            "people": people(habit.person for habit in habits),
            "days": reviewers.DAYS,
            "quick_seconds": int(reviewers.QUICK_SECONDS),
            "capped": reviewers.WAITING_CAP if many else 0,
        },
    )

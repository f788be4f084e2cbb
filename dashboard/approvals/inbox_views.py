"""The inbox, decisions on several requests together, and how reviewers do."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from approvals.inbox import boxes as inbox_floor
from approvals.inbox import reviewers
from approvals.inbox import rows as inbox_rows
from dashboard import errors
from dashboard.fields.parameters import CURSOR, ID
from dashboard.identity.people import people
from dashboard.identity.permissions import may
from dashboard.identity.seats import person_of
from dashboard.people.accounts.administration import AUDIT
from dashboard.views.addresses import takes
from dashboard.views.base import (
    SeeOther,
    actor,
    flash,
    live_page,
    member,
    next_url,
    show,
    wants_regions,
)
from dashboard.wording import amounts, sentences_of_decisions

from . import decide_many as bulk
from .inbox import page_from
from .next_request import LIST_PARAMETERS

LIST, SHEET, LOAD = "inbox/list.html", "inbox/bulk.html", "inbox/load.html"
DONE = {"approve": "approved", "reject": "rejected"}


@require_safe
@live_page
@takes(**LIST_PARAMETERS, cursor=CURSOR)
def inbox(request: HttpRequest) -> HttpResponse:
    """The inbox: ?box= mine, team, due, high, open or done; &sort= risk, age or deadline.

    &agent=, &framework= and &q= narrow it, &alike= shows the equals of a request, &cursor= goes on.
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
            "agents": page.agents,
            "frameworks": page.frameworks,
            "here": request.get_full_path(),
            "habit": _habit(request),
        }
    return show(request, page, LIST, extra)


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


@require_POST
@member
def together(request: HttpRequest) -> HttpResponse:
    """Show the ticked requests once more with their hashes; confirmed, decide each by itself."""
    who = actor(request)
    one = request.POST.get("one", "")  # a button of a row: its verdict and item
    verdict, _, item = one.partition(":") if one else (request.POST.get("verdict", ""), "", "")
    items = bulk.read_items([item] if one else request.POST.getlist("item"))
    comment = request.POST.get("comment", "").replace("\r\n", "\n")
    back = next_url(request, reverse("approvals"))
    context: dict[str, Any] = {"verdict": verdict, "comment": comment, "back": back}
    if not items:
        flash(request, "You ticked nothing, so nothing was decided.")
        return SeeOther(back)
    if verdict not in bulk.TOGETHER:
        raise errors.Invalid("$.verdict", f"together it is {' or '.join(bulk.TOGETHER)} only")
    shown = bulk.preview(who, items, verdict)
    if not request.POST.get("confirmed") or _asks_again(request, shown, verdict):
        context["lasting_error"] = bool(request.POST.get("confirmed"))
        return _sheet(request, shown, context)
    try:
        results = bulk.decide_together(who, items, verdict, comment)
    except errors.Invalid as error:
        context["comment_error"] = error.reason
        return _sheet(request, bulk.preview(who, items, verdict), context, status=error.status)
    done = [result for result in results if result.good]
    refused = [result for result in results if not result.good]
    if refused:
        context |= {"done": done, "refused": refused, "results": True, "did": DONE[verdict]}
        return render(request, SHEET, context, status=200 if done else 409)
    flash(request, _notice(results, DONE[verdict]))
    return SeeOther(back)


def _asks_again(request: HttpRequest, shown: list[bulk.ItemResult], verdict: str) -> bool:
    """True while nobody has said that they know which of these can't be undone."""
    return bool(verdict == "approve" and _lasting(shown) and not request.POST.get("lasting"))


def _lasting(shown: list[bulk.ItemResult]) -> int:
    """The number of requests to approve whose action can't be undone."""
    return sum(one.good and one.row is not None and one.row.weight == "lasting" for one in shown)


def _notice(results: list[bulk.ItemResult], did: str) -> str:
    """Results in a sentence or two, when nothing was refused."""
    after = [result.after for result in results if result.after is not None]
    parts = [f"{len(results):,} requests {did}."]
    if len(results) == 1 and results[0].row is not None:
        parts = [f"{did.capitalize()}: {results[0].row.headline}"]
    if waiting := sum(row.status == "pending" for row in after):
        parts.append(
            "Others still have to approve."
            if len(results) == 1
            else f"Of {waiting:,} others have to approve, too."
        )
    if held := sum(row.status == "held" for row in after):
        which = "its page" if held == 1 else "their pages"
        parts.append(f"For a few seconds you can undo it on {which}, see Done.")
    return " ".join(parts)


def _sheet(
    request: HttpRequest,
    messages: list[bulk.ItemResult],
    context: dict[str, Any],
    *,
    status: int = 200,
) -> HttpResponse:
    good = [one for one in messages if one.good]
    rows = [one.row for one in good if one.row]
    context |= {
        "good": good,
        "sum": _sum(rows),
        "n_summed": sum(amounts.money_of(row.args) is not None for row in rows),
        "refused": [one for one in messages if not one.good],
        "lasting": _lasting(messages) if context["verdict"] == "approve" else 0,
        "results": False,
    }
    return render(request, SHEET, context, status=status)


def _sum(rows: list[inbox_rows.InboxRow]) -> amounts.Sum | None:
    """Sum the amounts of requests that name one; None if arguments are too large to be known."""
    if any(row.args is None for row in rows):
        return None
    return amounts.sum_of(row.args for row in rows if amounts.money_of(row.args))


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

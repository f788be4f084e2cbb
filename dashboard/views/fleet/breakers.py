"""Sheets of a breaker: what a trip would touch, how many a release sets going; then the deed."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from checkpoints import queries
from checkpoints.state import deltas
from checkpoints.states import Status
from dashboard import actions, errors
from dashboard.actions.fleet import breakers
from dashboard.actions.fleet.breakers import Selection
from dashboard.fields.parameters import TEXT, one_of
from dashboard.identity.people import people
from dashboard.identity.permissions import require
from dashboard.pages.parts.breakers import open_breaker
from dashboard.saved_views.address import NARROWS
from dashboard.views import forms
from dashboard.views.addresses import takes
from dashboard.views.base import SeeOther, actor, flash, member, refused
from dashboard.wording.operations import selection_words
from dashboard.wording.sentences import look

CHANGED = "The selection was changed; look at the new counts, then stop them."
SOME, SHARE, ALL = "number", "percent", "all"
# What a board is narrowed by and no breaker.
BESIDE = ("status", "held", "children")
# Where a thread goes on only when somebody takes it.
TAKEN = (Status.QUEUED, Status.ROLLING_BACK)


@require_http_methods(["GET", "POST"])
@member
@takes(label=TEXT, **NARROWS)
def trip(request: HttpRequest) -> HttpResponse:
    """Stop all threads or a selection; the address holds what the board's filter says.

    No breaker selects by a status or by what holds a child: these lead on to the sheet of many.
    """
    who = actor(request)
    require(who, "breaker")
    posted = request.method == "POST"
    query = request.POST if posted else request.GET
    reason = query.get("reason", "").strip()
    problems: dict[str, str] = {}
    understood = True
    try:
        selection = _selection(query)
        touched = actions.preview_trip(who, selection)
    except errors.Invalid as error:
        problems, understood = forms.problems_of(error), False
        # What has no field on the sheet is explained above it.
        problems = {name if name == "label" else forms.WHOLE: problems[name] for name in problems}
        selection = Selection()
        touched = actions.preview_trip(who, selection)

    beside, words = _beside(query), _board_words(query)
    leads = beside or not understood

    def form(status: int) -> HttpResponse:
        chosen = selection.stored()
        counts = touched.statuses
        agents = {row.agent for row in queries.agents(workspace=who.workspace)}
        context = {
            "words": selection_words(chosen),
            "understood": understood,
            "beside": beside if understood else [],
            "many_address": reverse("threads_many", query=words) if words and leads else "",
            "back": reverse("board", query=words),
            "touched": touched,
            "running": counts.get(Status.RUNNING, 0),
            "queued": sum(counts.get(status, 0) for status in TAKEN),
            "paused": counts.get(Status.PAUSED, 0),
            "sleeping": counts.get(Status.SLEEPING, 0),
            "others": sum(counts.get(s, 0) for s in (Status.WAITING, Status.ATTENTION)),
            "agents": sorted(agents | ({selection.agent} - {""})),
            "agent": selection.agent,
            "label": query.get("label", ""),
            "rest": [
                (name, str(value) if value is not True else "1")
                for name, value in chosen.items()
                if name not in ("agent", "labels")
            ]
            + [(name, text) for name in BESIDE if (text := query.get(name, ""))],
            # A selection that is refused counts as all threads, which nobody has seen.
            "seen": deltas.canonical(chosen).decode() if understood else "",
            "reason": reason,
            "errors": problems,
        }
        return render(request, "breaker/trip.html", context, status=status)

    if not posted or query.get("do", "") == "count":
        return form(422 if problems else 200)
    if not problems and query.get("seen", "") != deltas.canonical(selection.stored()).decode():
        problems = {forms.WHOLE: CHANGED}
    if problems:
        return form(422)
    try:
        actions.trip_breaker(who, selection, reason)
    except (errors.Forbidden, errors.Missing):
        raise
    except errors.ActionError as error:
        problems = forms.problems_of(error)
        return form(error.status)
    flash(request, f"Stopped: {selection_words(selection.stored())}.")
    return SeeOther(reverse("board"))


@require_http_methods(["GET", "POST"])
@member
@takes(some=one_of((SOME, SHARE, ALL)))
def release(request: HttpRequest, breaker_id: UUID) -> HttpResponse:
    """Let some threads of a breaker go on, or all; what is refused comes back as it was written."""
    who = actor(request)
    require(who, "breaker")
    row, progress = breakers.breaker(who, breaker_id)
    if not row.is_open:
        refusal = errors.NotAllowedNow("This breaker has been released already.")
        return refused(request, refusal, back=reverse("board"), label="To the board")
    query = request.POST
    some = query.get("some", "") or request.GET.get("some", "") or SOME
    reason = query.get("reason", "").strip()

    def form(problems: Mapping[str, str], status: int) -> HttpResponse:
        context = {
            "breaker": open_breaker(row, progress, people([row.opened_by])),
            "some": some,
            "number": query.get("number", "5"),
            "percent": query.get("percent", "10"),
            "reason": reason,
            "errors": dict(problems),
        }
        return render(request, "breaker/release.html", context, status=status)

    if request.method != "POST":
        return form({}, 200)
    try:
        part = _part(some, query)
        row, n = actions.release_breaker(who, breaker_id, reason, **part)
    except (errors.Forbidden, errors.Missing):
        raise
    except errors.ActionError as error:
        return form(forms.problems_of(error), error.status)
    many = f"{n:,} thread{' goes' if n == 1 else 's go'} on"
    flash(request, f"Released: {many}." if not row.is_open else f"{many}; the others stay stopped.")
    return SeeOther(reverse("board"))


def _part(some: str, query: Mapping[str, str]) -> dict[str, int]:
    """The part that goes on, as the action takes it; empty for all. Raises Invalid."""
    if some == ALL:
        return {}
    if some not in (SOME, SHARE):
        raise errors.Invalid("$.some", "enter how many continue")
    text = query.get(some, "").strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 8):
        raise errors.Invalid(f"$.{some}", "must be a whole number")
    return {some: int(text)}


def _selection(query: Mapping[str, str]) -> Selection:
    """The selection in a form or an address; raises Invalid."""
    label = query.get("label", "").strip()
    key, colon, value = label.partition(":")
    if label and not (key.strip() and colon):
        raise errors.Invalid("$.label", "is written key:value")
    depth = query.get("depth", "").strip()
    if depth and not (depth.isascii() and depth.isdecimal() and len(depth) < 6):
        raise errors.Invalid("$.depth", "must be a whole number")
    return Selection(
        agent=query.get("agent", "").strip(),
        framework=query.get("framework", "").strip(),
        q=query.get("q", "").strip(),
        labels={key.strip(): value.strip()} if label else {},
        parent=_ident(query, "parent"),
        root=_ident(query, "root"),
        depth=int(depth) if depth else None,
        damaged=bool(query.get("damaged", "")),
    )


def _beside(query: Mapping[str, str]) -> list[str]:
    """The kinds of threads that the board is narrowed to and a breaker is not, in words."""
    chosen = query.get("status", "").split(",")
    kinds = [look(status).word.lower() for status in Status if status in chosen]
    return kinds + (["held"] if query.get("held", "") else [])


def _board_words(query: Mapping[str, str]) -> dict[str, str]:
    """Filters of the board that lists these threads; empty where it has no words for them."""
    words = {name: text for name in NARROWS if (text := query.get(name, ""))}
    if label := query.get("label", "").strip():
        key, colon, value = label.partition(":")
        if not (colon and key.strip() and value.strip()):
            return {}
        term = queries.Term("label", (f"{key.strip()}={value.strip()}",))
        words["q"] = f"{words.get('q', '')} {term}".strip()
    return words


def _ident(query: Mapping[str, str], name: str) -> UUID | None:
    text = query.get(name, "").strip()
    try:
        return UUID(text) if text else None
    except ValueError:
        raise errors.Invalid(f"$.{name}", "is not an id") from None

"""Saved views: the list of them, forms to save and change one, removal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote_plus
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard import errors
from dashboard.fields.parameters import ADDRESS
from dashboard.fields.shapes import Field, Option
from dashboard.identity.people import people
from dashboard.kit.action import read
from dashboard.kit.inputs import declared, from_texts, opened_on, opened_text
from dashboard.kit.pages import forms
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, flash, member
from dashboard.kit.shapes.requests import Nothing
from dashboard.models import SavedView as ViewRow

from . import view_actions
from .surfaces import BOARD, RECORDS, SURFACES, Surface, readable
from .view_actions import CHANGE, REMOVE, SAVE, ChangeView, SaveView

LIST, FORM = "board/saved_views/list.html", "board/saved_views/form.html"


@require_safe
@member
@takes()
def index(request: HttpRequest) -> HttpResponse:
    """One's own views and those that others share."""
    who = actor(request)
    rows = view_actions.list_views(who)
    shown = [
        {
            "row": row,
            "href": _href(row, (known := readable(row))[0]),
            "problem": known[1],
            "records": row.surface == RECORDS,
            "words": unquote_plus(row.address),
            "mine": row.owner == who.person,
            "may_change": view_actions.may_change(who, row),
        }
        for row in rows
    ]
    names = people({row.owner for row in rows if row.owner != who.person})
    return render(request, LIST, {"views": shown, "people": names})


@require_http_methods(["GET", "POST"])
@member
@takes()
def save(request: HttpRequest) -> HttpResponse:
    """Save a page under a name; what is refused comes back as it was written."""
    if request.method != "POST":
        return _form(request, None, {}, {}, 200)
    texts = forms.posted(request)
    try:
        wanted = read(SaveView, from_texts(SaveView, texts))
        row = SAVE.run(actor(request), wanted)
    except errors.Invalid as error:
        return _form(request, None, texts, forms.problems_of(error), error.status)
    flash(request, SAVE.done(wanted, row))
    return SeeOther(_href(row, row.address))


@require_http_methods(["GET", "POST"])
@member
@takes(address=ADDRESS)
def change(request: HttpRequest, view_id: UUID) -> HttpResponse:
    """Rename a view, share it or not, give it another address: the form may begin with that one."""
    who = actor(request)
    row = view_actions.one_view(who, view_id)
    if request.method != "POST":
        return _form(request, row, request.GET.dict(), {}, 200)
    texts = forms.posted(request)
    try:
        # Read as a new one: to clear its name is refused, where a call may leave the name out.
        wanted = read(ChangeView, from_texts(SaveView, texts, _opened(row, texts)))
        row = CHANGE.run(who, wanted, view_id)
    except errors.Invalid as error:
        return _form(request, row, texts, forms.problems_of(error), error.status)
    flash(request, CHANGE.done(wanted, row))
    return SeeOther(reverse("views"))


@require_POST
@member
def remove(request: HttpRequest, view_id: UUID) -> HttpResponse:
    """Take a view away."""
    row = REMOVE.run(actor(request), Nothing(), view_id)
    flash(request, REMOVE.done(Nothing(), row))
    return SeeOther(reverse("views"))


vars(save)["action"], vars(change)["action"], vars(remove)["action"] = SAVE, CHANGE, REMOVE


def _form(
    request: HttpRequest,
    row: ViewRow | None,
    texts: Mapping[str, str],
    problems: dict[str, str],
    status: int,
) -> HttpResponse:
    who = actor(request)
    surface = row.surface if row else texts.get("surface", "") or BOARD
    surfaces = [one for one in SURFACES.values() if view_actions.may_open(who, one.name)]
    context = {
        "row": row,
        "declared": _declared(texts, problems, row, surfaces, surface),
        "opened": opened_text(_opened(row, texts)) if row else "",
        "choose_surface": row is None and len(surfaces) > 1,
        "records": surface == RECORDS,
        "errors": problems,
        "problem": readable(row)[1] if row else "",
        "may_change": row is None or view_actions.may_change(who, row),
    }
    return render(request, FORM, context, status=status)


def _declared(
    texts: Mapping[str, str],
    problems: Mapping[str, str],
    row: ViewRow | None,
    surfaces: Sequence[Surface],
    surface: str,
) -> dict[str, Field]:
    """The inputs of the form, opened on the view where there is one."""
    everybody = "Auditors and admins" if surface == RECORDS else "The workspace"
    options = {
        "surface": [Option(one.name, one.title) for one in surfaces],
        "shared": [Option("false", "Nobody"), Option("true", everybody)],
    }
    opened = _opened(row, texts) if row else {}
    return declared(SaveView, [*SaveView.model_fields], texts, problems, options, opened)


def _opened(row: ViewRow, texts: Mapping[str, str]) -> dict[str, Any]:
    """The values of the view that the form was opened on."""
    now = {name: getattr(row, name) for name in ChangeView.model_fields}
    return opened_on(ChangeView, texts, now)


def _href(row: ViewRow, address: str) -> str:
    """The page that a view opens."""
    return f"{reverse(SURFACES[row.surface].route)}?{address}"

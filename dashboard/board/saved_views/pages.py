"""Saved views: the list of them, forms to save and change one, removal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote_plus
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard import errors
from dashboard.fields.parameters import ADDRESS
from dashboard.identity.people import people
from dashboard.kit.pages import forms
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, flash, member

from . import view_actions
from .changes import NAME_MAX, Choice
from .queries import ViewRow
from .surfaces import BOARD, RECORDS, SURFACES, readable

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
            "href": _href(row, (read := readable(row))[0]),
            "problem": read[1],
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
    try:
        surface = request.POST.get("surface", "") or BOARD
        row = view_actions.save_view(
            actor(request), replace(_choice(request.POST), surface=surface)
        )
    except errors.Invalid as error:
        return _form(request, None, request.POST, forms.problems_of(error), error.status)
    flash(request, f"Saved as “{row.name}”.")
    return SeeOther(_href(row, row.address))


@require_http_methods(["GET", "POST"])
@member
@takes(address=ADDRESS)
def change(request: HttpRequest, view_id: UUID) -> HttpResponse:
    """Rename a view, share it or not, give it another address: the form may begin with that one."""
    who = actor(request)
    row = view_actions.one_view(who, view_id)
    if request.method != "POST":
        address = request.GET.get("address", row.address)
        values = {"name": row.name, "address": address, "shared": "1" if row.shared else ""}
        return _form(request, row, values, {}, 200)
    try:
        view_actions.change_view(who, view_id, _choice(request.POST))
    except errors.Invalid as error:
        return _form(request, row, request.POST, forms.problems_of(error), error.status)
    flash(request, "Changed.")
    return SeeOther(reverse("views"))


@require_POST
@member
def remove(request: HttpRequest, view_id: UUID) -> HttpResponse:
    """Take a view away."""
    row = view_actions.remove_view(actor(request), view_id)
    flash(request, f"“{row.name}” is removed.")
    return SeeOther(reverse("views"))


def _form(
    request: HttpRequest,
    row: ViewRow | None,
    values: Mapping[str, Any],
    problems: dict[str, str],
    status: int,
) -> HttpResponse:
    who = actor(request)
    surface = row.surface if row else values.get("surface", "") or BOARD
    context = {
        "row": row,
        "surface": surface,
        "surfaces": [one for one in SURFACES.values() if view_actions.may_open(who, one.name)],
        "records": surface == RECORDS,
        "values": values,
        "errors": problems,
        "name_max": NAME_MAX,
        "problem": readable(row)[1] if row else "",
        "may_change": row is None or view_actions.may_change(who, row),
    }
    return render(request, FORM, context, status=status)


def _href(row: ViewRow, address: str) -> str:
    """The page that a view opens."""
    return f"{reverse(SURFACES[row.surface].route)}?{address}"


def _choice(query: Mapping[str, str]) -> Choice:
    """The values of a form."""
    return Choice(query.get("name", ""), query.get("address", ""), bool(query.get("shared", "")))

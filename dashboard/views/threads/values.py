"""The page of one part of a state: what a light tree leaves out, in its place or by itself."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from dashboard.fields.parameters import NUMBER, PART, POINT, POINTER
from dashboard.pages.parts.values import ValuePage
from dashboard.views.addresses import takes
from dashboard.views.base import actor, member, number_in
from dashboard.wording.text import prose


@require_safe
@vary_on_headers("HX-Request")
@member
@takes(of=PART, at=POINTER, against=POINT, was=POINTER, start=NUMBER)
def value(request: HttpRequest) -> HttpResponse:
    """?of= names the checkpoint, ?at= the part; ?against= and ?was= what it is compared with."""
    query = request.GET
    if not query.get("of"):
        return render(request, "thread/value.html", {"nothing": True})
    page = ValuePage(
        actor(request).workspace,
        query["of"],
        query.get("at", ""),
        query.get("against", ""),
        query.get("was", ""),
        number_in(query, "start") or 0,
    )
    context = page.context()
    unread = context["unread"]
    if "HX-Request" in request.headers:
        why = prose(unread.why if unread else "")
        away = format_html('<li class="ln" data-value>{}</li>', why)
        # The page stays where it is: htmx would write the address of what it fetched.
        return HttpResponse(context.get("part", away), headers={"HX-Push-Url": "false"})
    return render(request, "thread/value.html", context)

"""Answers without a view: pages for people, problem+json below /api/; no queries.

Django calls these while the exception is being handled, also for those of middleware.
"""

from __future__ import annotations

import sys

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from checkpoints.postgres import outages
from dashboard.errors import StorageAway, no_room
from dashboard.kit.pages.base import came_from
from dashboard.kit.shapes.problems import MEDIA_TYPE, problem

RETRY_SECONDS = 5


def malformed(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """400: not even the address or the host can be read."""
    if _api(request):
        message = "The request is malformed."
        return _problem("malformed", "The request can’t be read", 400, message)
    return render(request, "400.html", status=400)


def session_changed(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403: the form was sent under another session than it was opened in; leads back to it."""
    context = {"back": came_from(request), "signed_in": request.user.is_authenticated}
    return render(request, "403_csrf.html", context, status=403)


def failed(request: HttpRequest) -> HttpResponse:
    """503 while the database is away or has no room, or a disk takes no upload; else 500."""
    error = sys.exception()
    if error is not None and outages.is_outage(error):
        return unavailable(request, outages.outage(error))
    if (full := no_room(error)) is not None:
        return _no_room(request, full)
    if _api(request):
        message = "Something failed on our side; it is in the log."
        return _problem("failure", "Failure", 500, message)
    return HttpResponse(render_to_string("500.html"), status=500)


def unavailable(request: HttpRequest, why: str = outages.AWAY) -> HttpResponse:
    """503 with Retry-After; `why` is the sentence for people."""
    answer = (
        _problem("unavailable", "Not available", 503, why)
        if _api(request)
        else HttpResponse(render_to_string("503.html", {"why": why}), status=503)
    )
    answer["Retry-After"] = str(RETRY_SECONDS)
    return answer


def _no_room(request: HttpRequest, full: StorageAway) -> HttpResponse:
    if _api(request):
        return _problem(full.code, full.title, full.status, full.detail)
    context = {"status": full.status, "title": full.title, "detail": full.detail}
    return HttpResponse(render_to_string("error.html", context), status=full.status)


def _api(request: HttpRequest) -> bool:
    # Under that address the documentation alone is a page.
    return request.path.startswith("/api/") and not request.path.startswith("/api/docs/")


def _problem(code: str, title: str, status: int, detail: str) -> HttpResponse:
    body = problem(code, title, status, detail)
    return JsonResponse(body, status=status, content_type=MEDIA_TYPE)

"""The list of keys."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import member


@require_safe
@member
@takes()
def keyboard(request: HttpRequest) -> HttpResponse:
    """Show which key does what; the other pages open the same list over themselves."""
    return render(request, "keyboard.html")

"""The overview, its figures as CSV, and the page of budgets."""

from __future__ import annotations

from typing import Final

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.fields.filters import page_values
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import actor, member

from . import page
from .choices import CHOICES, overview_of
from .figures import FIGURES, figure
from .reads import Overview

PARAMETERS: Final = page_values(CHOICES)


@require_safe
@member
@takes(**PARAMETERS)
def overview(request: HttpRequest) -> HttpResponse:
    """Figures over time; ?period=24h|7d|30d or &from= &to=, and &agent=."""
    look = _look(request)
    agents = sorted({row.agent for row in look.agents})
    return render(request, "board/overview/page.html", page.context(look, agents))


@require_safe
@member
@takes(**PARAMETERS)
def table(request: HttpRequest, name: str) -> HttpResponse:
    """One figure as CSV."""
    if name not in FIGURES:
        raise Http404
    look = _look(request)
    answer = HttpResponse(figure(look, name).csv(), "text/csv; charset=utf-8")
    file = f"{name}-{look.period.first}-{look.period.last}.csv"
    answer["Content-Disposition"] = f'attachment; filename="{file}"'
    return answer


def _look(request: HttpRequest) -> Overview:
    texts = {name: request.GET.get(name, "") for name in PARAMETERS}
    return overview_of(actor(request).workspace, texts)

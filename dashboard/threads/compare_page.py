"""The page that compares any two checkpoints, branches or threads by its address."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.fields.parameters import POINT, one_of
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import actor, member
from dashboard.threads.page.comparison import VIEWS, ComparisonPage, candidates, point_of

TEMPLATE = "threads/compare.html"


@require_safe
@member
@takes(left=POINT, right=POINT, view=one_of(VIEWS))
def compare(request: HttpRequest) -> HttpResponse:
    """?left= and ?right= beside each other; a form where one of them is missing."""
    left, right = (request.GET.get(name, "").strip() for name in ("left", "right"))
    workspace = actor(request).workspace
    if not left or not right:
        known = left or right
        first = point_of(known, workspace=workspace)[0] if known else None
        context = {
            "wanted": {"left": known, "right": ""},
            "first": first,
            "candidates": candidates(workspace, first),
        }
        return render(request, TEMPLATE, context)
    view = request.GET.get("view", "") or VIEWS[0]
    page = ComparisonPage(workspace, left, right, view)
    wanted = {"left": left, "right": right}
    return render(request, TEMPLATE, page.context() | {"wanted": wanted})

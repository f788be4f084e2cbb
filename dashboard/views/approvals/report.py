"""The report on one decision, as a page to print and as a file."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.fields.parameters import one_of
from dashboard.pages.report.decision import DecisionReport
from dashboard.pages.report.file import attachment
from dashboard.views.addresses import takes
from dashboard.views.base import actor, member


@require_safe
@member
@takes(form=one_of(("file",)))
def report(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """All that the record has of a request; `?form=file` saves it as one file."""
    who = actor(request)
    result = DecisionReport(who.workspace, approval_id, by=who.id)
    if request.GET.get("form"):
        return attachment(result)
    return render(request, "approval/report/page.html", dict(result.context()))

"""The report on one decision: a page to print, and one file of HTML that loads nothing."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from dashboard.fields.parameters import one_of
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import actor, member

from .report import DecisionReport


def text_of(report: DecisionReport) -> str:
    """The file's text."""
    return render_to_string(
        "approvals/report/file.html", {**report.context(), "whole": True}
    ).lstrip()


def attachment(report: DecisionReport) -> HttpResponse:
    """The file as a download; page and API answer alike."""
    response = HttpResponse(text_of(report), content_type="text/html; charset=utf-8")
    name = f"decision-{report.approval.id}.html"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "no-store"
    return response


@require_safe
@member
@takes(form=one_of(("file",)))
def report(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """All that the record has of a request; `?form=file` saves it as one file."""
    who = actor(request)
    result = DecisionReport(who.workspace, approval_id, by=who.id)
    if request.GET.get("form"):
        return attachment(result)
    return render(request, "approvals/report/page.html", dict(result.context()))

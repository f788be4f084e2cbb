"""The report as one file of plain HTML: nothing of it is loaded from elsewhere."""

from __future__ import annotations

from django.http import HttpResponse
from django.template.loader import render_to_string

from .decision import DecisionReport


def text_of(report: DecisionReport) -> str:
    """The file's text."""
    return render_to_string(
        "approval/report/file.html", {**report.context(), "whole": True}
    ).lstrip()


def attachment(report: DecisionReport) -> HttpResponse:
    """The file as a download; page and API answer alike."""
    response = HttpResponse(text_of(report), content_type="text/html; charset=utf-8")
    name = f"decision-{report.approval.id}.html"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "no-store"
    return response

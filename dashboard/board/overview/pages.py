"""The overview, its figures as CSV, and the page of budgets."""

from __future__ import annotations

from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from checkpoints import queries
from dashboard import actions, errors
from dashboard.fields.parameters import TEXT, Values, one_of
from dashboard.fields.typed_values import without_thousands
from dashboard.identity.permissions import may
from dashboard.views import forms
from dashboard.views.addresses import takes
from dashboard.views.base import SeeOther, actor, flash, member

from . import page
from .figures import FIGURES, figure
from .period import LENGTHS, is_date, period_of
from .reads import Overview

DATE: Final = Values("a day such as 2026-11-26", is_date)
PARAMETERS: Final[dict[str, Values]] = {
    "period": one_of(LENGTHS),
    "from": DATE,
    "to": DATE,
    "agent": TEXT,
}


@require_safe
@member
@takes(**PARAMETERS)
def overview(request: HttpRequest) -> HttpResponse:
    """Figures over time; ?period=24h|7d|30d or &from= &to=, and &agent=."""
    look = _look(request)
    agents = sorted({row.agent for row in queries.agents(workspace=look.workspace)})
    return render(request, "overview/page.html", page.context(look, agents))


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


@require_http_methods(["GET", "POST"])
@member
@takes()
def budgets(request: HttpRequest) -> HttpResponse:
    """Budgets of this month; an admin sets them here."""
    who = actor(request)
    posted, status = request.method == "POST", 200
    values = {name: request.POST.get(name, "").strip() for name in FIELDS} if posted else {}
    problems: dict[str, str] = {}
    if posted:
        try:
            row = actions.set_budget(who, **_budget(request, values))
        except (errors.Forbidden, errors.Missing):
            raise
        except errors.ActionError as error:
            problems, status = forms.problems_of(error), error.status
        else:
            off = "" if row.active else ", and switched off"
            flash(request, f"The budget of {row.whose} is set{off}.")
            return SeeOther(reverse("budgets"))
    context = {
        "lines": [page.budget_line(one) for one in queries.budget_standings(who.workspace)],
        "agents": sorted({row.agent for row in queries.agents(workspace=who.workspace)}),
        "may_set": may(who, "policy"),
        "values": values,
        "errors": problems,
    }
    return render(request, "overview/budgets.html", context, status=status)


FIELDS: Final = ("scope", "name", "max_cost", "max_tokens", "at_full", "active")


def _budget(request: HttpRequest, values: dict[str, str]) -> dict[str, Any]:
    """The form as the action takes it; raises Invalid."""
    tokens = without_thousands(values["max_tokens"])
    if tokens and not (tokens.isascii() and tokens.isdecimal() and len(tokens) < 18):
        raise errors.Invalid("$.max_tokens", "must be a whole number")
    return {
        "scope": values["scope"],
        "name": values["name"],
        "max_cost": without_thousands(values["max_cost"]) or None,
        "max_tokens": int(tokens) if tokens else None,
        "at_full": values["at_full"] or "notify",
        "active": values["active"] != "no",
    }


def _look(request: HttpRequest) -> Overview:
    query = request.GET
    period = period_of(
        name=query.get("period", ""), first=query.get("from", ""), last=query.get("to", "")
    )
    return Overview(actor(request).workspace, period, query.get("agent", "").strip())

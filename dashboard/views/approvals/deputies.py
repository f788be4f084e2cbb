"""Out of office: a reviewer's deputies."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from dashboard import actions, errors
from dashboard.actions.people import deputies
from dashboard.fields.parameters import FLAG
from dashboard.identity.permissions import may
from dashboard.kit.pages import forms
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, flash, member

LIST = "deputy/list.html"
HOME = "deputies"


@require_http_methods(["GET", "POST"])
@member
@takes(everybody=FLAG)
def index(request: HttpRequest) -> HttpResponse:
    """One's deputies and whose deputy one is; a POST names one. ?everybody=1 shows all of them."""
    if request.method != "POST":
        return _page(request, {}, {}, 200)
    who, query = actor(request), request.POST
    try:
        row = actions.name_deputy(
            who,
            query.get("deputy", ""),
            _day(query, "begins"),
            _day(query, "ends") + timedelta(days=1),
            query.get("reason", "").strip(),
            query.get("person", "").strip() if may(who, "people") else "",
        )
    except errors.Invalid as error:
        return _page(request, query, forms.problems_of(error), error.status)
    flash(request, f"{row.deputy_name} acts for {row.person_name} in that time.")
    return SeeOther(reverse(HOME))


@require_POST
@member
def remove(request: HttpRequest, deputy_id: UUID) -> HttpResponse:
    """End a deputy's right, or withdraw a request that was handed over."""
    row = actions.remove_deputy(actor(request), deputy_id)
    flash(request, f"{row.deputy_name} no longer acts for {row.person_name}.")
    return SeeOther(reverse(HOME))


def _page(
    request: HttpRequest, draft: Mapping[str, str], problems: Mapping[str, str], status: int
) -> HttpResponse:
    who = actor(request)
    everybody = bool(request.GET.get("everybody", ""))
    rows = deputies.list_deputies(who, everybody=everybody)
    today = datetime.now(UTC).date()
    context: dict[str, Any] = {
        "rows": rows,
        "me": who.person,
        "everybody": everybody,
        "oversees": not who.roles.isdisjoint(("auditor", "admin")),
        "may_name": may(who, "delegate"),
        "for_others": may(who, "people"),
        "reviewer": may(who, "decide"),
        "reviewers": deputies.possible_deputies(who) if may(who, "delegate") else [],
        "draft": draft or {"begins": f"{today}", "ends": f"{today + timedelta(days=7)}"},
        "errors": dict(problems),
    }
    return render(request, LIST, context, status=status)


def _day(query: Mapping[str, str], name: str) -> datetime:
    try:
        return datetime.strptime(query.get(name, "").strip(), "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise errors.Invalid(f"$.{name}", "must be a day, such as 2026-12-01") from None

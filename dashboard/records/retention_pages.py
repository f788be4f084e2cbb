"""Retention rules among the records: auditors read them, admins set and switch them.

A rule erases threads by itself, so it is set only after the form has counted what is due by it.
"""

from __future__ import annotations

from typing import Any, Final, cast

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from checkpoints import queries
from checkpoints.queries.erasures.rules import COUNTED_MAX, RuleRow
from checkpoints.store.erasure.rules import FLOOR_DAYS
from dashboard import actions
from dashboard.actions.erasure.retention import retention_rules
from dashboard.errors import ActionError, Forbidden, Invalid, Missing
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor, may
from dashboard.views.addresses import takes
from dashboard.views.base import SeeOther, flash
from dashboard.views.forms import problems_of
from dashboard.wording.savings import counted

FIELDS: Final = ("agent", "days", "archive", "active")
NEW: Final = {"agent": "", "days": "", "archive": "", "active": "1"}


@require_http_methods(["GET", "POST"])
@takes()
def retention(request: HttpRequest) -> HttpResponse:
    """All rules; a form that counts the threads due by a new one, then sets it."""
    who = cast(Actor, cast(Any, admin.site).member(request).actor)
    context: dict[str, Any] = {"values": NEW, "errors": {}}
    status = 200
    if request.method == "POST":
        values = {name: request.POST.get(name, "").strip() for name in FIELDS}
        context["values"] = values
        try:
            days = _days(values["days"])
            seen = f"{days}:{values['agent']}"
            if not values["active"] or request.POST.get("counted") == seen:
                archive, active = bool(values["archive"]), bool(values["active"])
                row = actions.set_retention(who, values["agent"], days, archive, active)
                flash(request, _sentence(row))
                return SeeOther(reverse("admin:retention"))
            due = actions.preview_retention(who, values["agent"], days)
            context |= {"due": _many(due), "seen": seen}
        except (Forbidden, Missing):
            raise
        except ActionError as error:
            context["errors"], status = problems_of(error), error.status
    rows = retention_rules(who)
    names = people(row.set_by for row in rows)
    context |= {
        **admin.site.each_context(request),
        "title": "Set a retention rule",
        "rules": [{"row": row, "by": names.get(row.set_by, row.set_by)} for row in rows],
        "agents": sorted({row.agent for row in queries.agents(workspace=who.workspace)}),
        "may_change": may(who, "retention"),
        "floor_days": FLOOR_DAYS,
    }
    return render(request, "records/retention.html", context, status=status)


def _days(text: str) -> int:
    """The number of days of the form; raises Invalid."""
    if not (text.isascii() and text.isdecimal() and len(text) < 9):
        raise Invalid("$.days", "must be a whole number")
    return int(text)


def _many(due: int) -> str:
    if due >= COUNTED_MAX:
        return f"more than {COUNTED_MAX - 1:,} threads"
    return counted(due, "thread")


def _sentence(row: RuleRow) -> str:
    whose = row.agent or "all agents without a rule of their own"
    if not row.active:
        return f"The rule of {whose} is switched off."
    return f"Threads of {whose} are erased {counted(row.days, 'day')} after their end."

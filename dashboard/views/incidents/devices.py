"""Devices that take web push, and the script that shows a message there."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from uuid import UUID

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from dashboard import actions, errors
from dashboard.views.base import SeeOther, actor, flash, member, refused

HOME: Final = "subscriptions"
WORKER: Final = Path(__file__).parents[2] / "static" / "dashboard" / "js" / "push-worker.js"


@require_POST
@member
def add(request: HttpRequest) -> HttpResponse:
    """Let messages come to the browser that sent this form."""
    fields = {name: request.POST.get(name, "").strip() for name in ("name", "address")}
    keys = {name: request.POST.get(name, "").strip() for name in ("p256dh", "auth")}
    try:
        row = actions.add_device(actor(request), **fields, **keys)
    except errors.Invalid as error:
        return refused(request, error, back=reverse(HOME), label="To your notifications")
    flash(request, f"Notifications go to {row.name}.")
    return SeeOther(reverse(HOME))


@require_POST
@member
def remove(request: HttpRequest, device_id: UUID) -> HttpResponse:
    """Send a device nothing more."""
    row = actions.remove_device(actor(request), device_id)
    flash(request, f"No more notifications go to {row.name}.")
    return SeeOther(reverse(HOME))


@login_not_required
@require_safe
def worker(_request: HttpRequest) -> HttpResponse:
    """The script of the service worker, under an address that stays: browsers look there again."""
    answer = HttpResponse(WORKER.read_bytes(), content_type="text/javascript; charset=utf-8")
    answer["Cache-Control"] = "no-cache"
    return answer

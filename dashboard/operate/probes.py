"""Is the process alive, and can it do its work: for supervisors and load balancers, no login."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from dashboard.operate.health import watch

OK, DOWN = "ok", "down"


@login_not_required
@require_safe
def healthz(_request: HttpRequest) -> HttpResponse:
    """The process answers."""
    return HttpResponse("ok", content_type="text/plain")


@login_not_required
@require_safe
def readyz(_request: HttpRequest) -> HttpResponse:
    """{"ready", "database", "migrations", "valkey", "worker"}: each part ok or down; 503 unless
    all are ok. "notes" has sentences on a lost worker or a step of the clock, if there are any."""
    result = watch.look()
    parts: dict[str, object] = {name: OK if up else DOWN for name, up in result.parts.items()}
    if result.notes:
        parts["notes"] = list(result.notes)
    return JsonResponse({"ready": result.ready, **parts}, status=200 if result.ready else 503)

"""Is the process alive, and can it do its work: for supervisors and load balancers, no login."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from dashboard.operate.health import watch
from dashboard.operate.metrics import metrics

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


class Probes:
    """Answers supervisors under whatever name they came: they know addresses, not our hosts.

    Stands before everything that looks at the host, the login or the database.
    """

    VIEWS: ClassVar = {
        "/healthz": healthz,
        "/readyz": readyz,
        "/metrics": metrics,
    }

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        view = self.VIEWS.get(request.path_info)
        if view is None:
            return self.get_response(request)
        response = view(request)
        # Logged once when it changes; an error line per probe would hide it.
        mark: Any = response
        mark._has_been_logged = True  # noqa: SLF001 - Django's mark
        return response

"""Headers of all answers."""

from collections.abc import Callable
from typing import ClassVar

from django.http import HttpRequest, HttpResponse

from dashboard.views import health, metrics


class NoStore:
    """Pages and answers show what people may see now: no cache keeps them, unless one says so."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if "Cache-Control" not in response:
            response["Cache-Control"] = "no-store"
        return response


class Probes:
    """Answers supervisors under whatever name they came: they know addresses, not our hosts.

    Stands before everything that looks at the host, the login or the database.
    """

    VIEWS: ClassVar = {
        "/healthz": health.healthz,
        "/readyz": health.readyz,
        "/metrics": metrics.metrics,
    }

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        view = self.VIEWS.get(request.path_info)
        if view is None:
            return self.get_response(request)
        response = view(request)
        # Told once when it changes; an error line per probe would hide it.
        response._has_been_logged = True  # type: ignore[attr-defined]
        return response

"""Headers of all answers, probes, static files."""

from collections.abc import Callable
from typing import Any, ClassVar

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse
from servestatic.middleware import ServeStaticMiddleware

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


class Static:
    """Static files; what is none passes by in its thread, which the library's own would leave."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.known = self.look()

    def look(self) -> ServeStaticMiddleware:
        """The library's middleware with the files that are there now."""
        return ServeStaticMiddleware(_nobody)

    def __call__(self, request: HttpRequest) -> Any:
        file = self.known.files.get(request.path_info)
        if file is None:
            return self.get_response(request)
        return async_to_sync(self.known.aserve)(file, request)


async def _nobody(request: HttpRequest) -> HttpResponse:
    """Whom the library would ask next, were it asked for what is no file."""
    raise LookupError(request.path_info)

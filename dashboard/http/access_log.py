"""One line and one measurement per request, and an id that joins everything said meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from uuid import uuid4

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from dashboard.identity.permissions import Grant
from dashboard.live import metrics
from workers.broker import trace_ids

log = structlog.get_logger("gatepost.access")
PROBES = {"/healthz", "/readyz", "/metrics"}
HEADER = "X-Request-ID"


def request_id(request: HttpRequest) -> str:
    """The request id that a proxy in front sent, if it is a plain word; else a new one."""
    value = request.headers.get(HEADER, "")
    return value if trace_ids.sane(value) else uuid4().hex


def route_class(request: HttpRequest) -> str:
    """Of which kind the address is: probe, static, api, admin, page or none."""
    path = request.path_info
    if path in PROBES:
        return "probe"
    if path.startswith(settings.STATIC_URL):
        return "static"
    if request.resolver_match is None:
        return "none"
    for kind in ("api", "admin"):
        if path.startswith(f"/{kind}/"):
            return kind
    return "page"


def user_id(request: HttpRequest) -> str:
    """The user and token of a request, where known; never a reason to query the database."""
    user = request.__dict__.get("user")
    if isinstance(user, SimpleLazyObject):
        user = request.__dict__.get("known_user")
    key = getattr(user, "pk", None)
    if key is None:
        return ""
    grant = request.__dict__.get("auth")  # where DRF leaves it
    return f"user:{key}/token:{grant.prefix}" if isinstance(grant, Grant) else f"user:{key}"


class Access:
    """The outermost layer: names the request, times it, logs it, counts it.

    Addresses are logged as the pattern that they fit, without their query: links that sign in
    carry a secret there.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        name = request_id(request)
        began = time.perf_counter()
        with structlog.contextvars.bound_contextvars(**{trace_ids.NAME: name}):
            response = self.get_response(request)
            seconds = time.perf_counter() - began
            self._log(request, response, seconds)
        response[HEADER] = name
        return response

    def _log(self, request: HttpRequest, response: HttpResponse, seconds: float) -> None:
        kind, match = route_class(request), request.resolver_match
        payload: dict[str, object] = {
            "method": request.method if request.method in metrics.METHODS else "OTHER",
            "route": f"/{match.route}" if match else "",
            "status": response.status_code,
            "ms": round(seconds * 1000, 1),
        }
        if match is None:
            payload["path"] = request.path_info[:200]
        elif "thread_id" in match.kwargs:
            payload["thread"] = str(match.kwargs["thread_id"])
        if user := user_id(request):
            payload["user"] = user
        say = log.debug if kind in ("probe", "static") else log.info
        say("request", **payload)
        metrics.observe(kind, str(payload["method"]), response.status_code, seconds)

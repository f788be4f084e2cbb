"""`/metrics`: figures for Prometheus, which has no login."""

from __future__ import annotations

import hmac
import ipaddress

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from dashboard.live.metrics import exposition

LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}


@login_not_required
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """The figures, for who has the token; without one set, for this machine only."""
    wanted = settings.GATEPOST_METRICS_TOKEN
    if wanted:
        scheme, _, values = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(values.encode(), wanted.encode()):
            refused = HttpResponse("A bearer token is needed.\n", "text/plain", 401)
            refused["WWW-Authenticate"] = "Bearer"
            return refused
    elif not _from_here(request):
        return HttpResponse(
            "Open to this machine only: set GATEPOST_METRICS_TOKEN to read it from elsewhere.\n",
            "text/plain",
            403,
        )
    return HttpResponse(exposition(), CONTENT_TYPE_PLAIN_0_0_4)


def _from_here(request: HttpRequest) -> bool:
    """True if the request surely comes from this machine.

    Behind a proxy of this machine everybody does, so a site with a public name, or a request that
    was handed on, does not count. The name is checked against rebinding.
    """
    if set(settings.ALLOWED_HOSTS) - LOOPBACK or "X-Forwarded-For" in request.headers:
        return False
    if request.headers.get("Host", "").rpartition(":")[0] not in LOOPBACK:
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False

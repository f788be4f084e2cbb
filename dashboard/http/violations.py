"""Reports of browsers that a page tried what the Content-Security-Policy forbids.

Anybody can send them, so they are small, few and untrusted: the log gets the directive, the origin
of what was blocked and the path of the page, never a query, a sample of code or other texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import structlog
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from checkpoints.errors import InvalidValue
from checkpoints.state.deltas import decode_request
from dashboard.identity.rate_limits import VIOLATIONS, TooMany, address_of

REPORT_BYTES: Final = 8 * 1024
REPORTS_MAX: Final = 10  # of one body; browsers collect some
PATH_MAX: Final = 200
MEDIA_TYPES: Final = ("application/csp-report", "application/reports+json", "application/json")
_DIRECTIVE: Final = re.compile(r"[a-z][a-z-]{2,39}")
_KEYWORDS: Final = {"inline", "eval", "wasm-eval", "self", "data", "blob", "trusted-types-policy"}
log = structlog.get_logger("gatepost.page_policy")


@csrf_exempt
@login_not_required
@require_POST
def violations(request: HttpRequest) -> HttpResponse:
    """Log what was blocked; 204, or 400, 413, 415, 429 for what is no report or one too many."""
    try:
        VIOLATIONS.spend(address_of(request))
    except TooMany as error:
        return HttpResponse(status=429, headers={"Retry-After": str(error.retry_after)})
    if request.content_type not in MEDIA_TYPES:
        return HttpResponse(status=415)
    raw = request.read(REPORT_BYTES + 1)
    if len(raw) > REPORT_BYTES:
        return HttpResponse(status=413)
    try:
        reports = list(_reports(decode_request(raw, rounds=True)))
    except InvalidValue:
        return HttpResponse(status=400)
    for directive, blocked, page in reports:
        log.warning("page_policy.violated", directive=directive, blocked=blocked, page=page)
    return HttpResponse(status=204 if reports else 400)


def _reports(body: Any) -> Iterator[tuple[str, str, str]]:
    """(directive, what was blocked, path of the page) of both forms that browsers send."""
    for one in (body if isinstance(body, list) else [body])[:REPORTS_MAX]:
        if not isinstance(one, dict):
            continue
        old, new = one.get("csp-report"), one.get("body")
        if isinstance(old, dict):
            directive = old.get("effective-directive") or old.get("violated-directive")
            blocked, page = old.get("blocked-uri"), old.get("document-uri")
        elif one.get("type") == "csp-violation" and isinstance(new, dict):
            directive = new.get("effectiveDirective")
            blocked, page = new.get("blockedURL"), new.get("documentURL")
        else:
            continue
        name = _DIRECTIVE.match(directive) if isinstance(directive, str) else None
        if name:
            yield name[0], _origin(blocked), _path(page)


def _origin(blocked: Any) -> str:
    """A keyword, or scheme and host: the rest of an address may carry somebody's data."""
    if not isinstance(blocked, str) or blocked in ("", *_KEYWORDS):
        return str(blocked or "inline")[:PATH_MAX] if isinstance(blocked, str) else "unknown"
    try:
        split = urlsplit(blocked)
        host, scheme = split.hostname or "", split.scheme
    except ValueError:
        return "unknown"
    if not re.fullmatch(r"[a-z][a-z0-9+.-]{0,20}", scheme):
        return "unknown"
    if not re.fullmatch(r"[a-z0-9.:-]{1,253}", host):
        return f"{scheme}:"
    return f"{scheme}://{host}"


def _path(page: Any) -> str:
    """The path alone: the query of a one-time link signs somebody in."""
    try:
        path = urlsplit(page).path if isinstance(page, str) else ""
    except ValueError:
        return ""
    return path[:PATH_MAX]

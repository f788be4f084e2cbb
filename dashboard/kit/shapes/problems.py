"""Every refusal of the API as problem+json (RFC 9457): type, title, status, detail, path, errors.

`type` is `urn:gatepost:problem:<code>`, stable for scripts; the codes stand in dashboard.errors
and here. `path` and `errors[].path` are JSON paths from the root of the request, or the name of a
query parameter.
"""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core import exceptions as django_errors
from django.core.signals import got_request_exception
from django.http import Http404
from pydantic import Field
from rest_framework import exceptions as rest
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import set_rollback

from approvals.queries import ApprovalRow
from checkpoints.errors import GatepostError, InvalidValue
from checkpoints.postgres import outages
from dashboard import errors
from dashboard.documents.state_shape import Shape
from dashboard.errors import ActionError, Fault, Invalid

from .django_request import django_request

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"


class Problem(Shape):
    """A refusal (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    path: str = Field(description="JSON path from the root of the request")
    errors: list[Fault] | None = None


def handler(exc: Exception, context: dict[str, Any]) -> Response | None:
    """The answer for an exception of an API view; None lets Django's debug page speak."""
    set_rollback()
    headers: dict[str, str] = {}
    if isinstance(exc, InvalidValue):
        exc = Invalid(exc.path, exc.reason)  # outside of actions: a query parameter
    elif isinstance(exc, GatepostError):
        exc = errors.of(exc)
    elif (full := errors.no_room(exc)) is not None:
        logger.error("an upload found no room", exc_info=exc)
        exc = full
    if isinstance(exc, ActionError):
        body = of_action(exc)
        if exc.retry_after:
            headers["Retry-After"] = str(exc.retry_after)
    elif isinstance(exc, rest.APIException):
        body, headers = _of_rest(exc)
    elif isinstance(exc, Http404):
        body = problem("missing", "Not found", 404, "There is nothing at this address.")
    elif isinstance(exc, django_errors.PermissionDenied):
        body = problem("forbidden", "Not allowed", 403, "Not allowed.")
    elif isinstance(exc, django_errors.BadRequest | django_errors.SuspiciousOperation):
        body = problem("malformed", "The request can’t be read", 400, "The request is malformed.")
    else:
        return _unexpected(exc, context)
    return _answer(body, headers, context)


def problem(code: str, title: str, status: int, detail: str, **more: Any) -> dict[str, Any]:
    """The members of a problem."""
    return {
        "type": f"urn:gatepost:problem:{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "path": "",
        **more,
    }


def of_action(error: ActionError) -> dict[str, Any]:
    """The problem of a refused action, with its facts as further members."""
    more: dict[str, Any] = {"path": error.path}
    detail = error.detail
    if isinstance(error, Invalid):
        more["path"] = error.request_path
        more["errors"] = [
            {"path": errors.rooted(f.path, error.within), "message": f.message}
            for f in error.faults
        ]
        detail = f"{error.request_path}: {error.reason}"
    for name, fact in error.facts.items():
        # `status` of a problem is the answer's own.
        key = "thread_status" if name == "status" else name
        more[key] = _recorded(fact) if isinstance(fact, ApprovalRow) else fact
    return problem(error.code, error.title, error.status, detail, **more)


def of_item(error: ActionError, path: str) -> dict[str, Any]:
    """The problem of one item of many; its paths begin at the root of the whole request."""
    payload = of_action(error)
    if isinstance(error, Invalid):
        for one in (payload, *payload["errors"]):
            one["path"] = path + one["path"].removeprefix("$")
        payload["detail"] = f"{payload['path']}: {error.reason}"
    return payload


def _recorded(row: ApprovalRow) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "status": row.status,
        "outcome": row.outcome,
        "decided_by": row.decided_by,
        "decided_by_name": row.decided_by_name,
        "imported": row.imported,
        "decided_at": None if row.decided_at is None else row.decided_at.isoformat(),
        "comment": row.comment,
    }


_CODES = {
    400: "malformed",
    401: "unauthenticated",
    403: "forbidden",
    404: "missing",
    405: "method-not-allowed",
    406: "not-acceptable",
    415: "unsupported-media-type",
    429: "too-many-requests",
}


def _of_rest(exc: rest.APIException) -> tuple[dict[str, Any], dict[str, str]]:
    headers = {}
    if header := getattr(exc, "auth_header", None):
        headers["WWW-Authenticate"] = header
    if wait := getattr(exc, "wait", None):
        headers["Retry-After"] = str(int(wait))
    status = exc.status_code
    detail = exc.detail if isinstance(exc.detail, str) else "The request is refused."
    title = HTTPStatus(status).phrase
    return problem(_CODES.get(status, "refused"), title, status, str(detail)), headers


def _unexpected(exc: Exception, context: dict[str, Any]) -> Response | None:
    """A failure of ours: logged, sent to Django's signal, answered without its inner life."""
    if outages.is_outage(exc):
        logger.exception("the database does not answer")
        body = problem("unavailable", "Not available", 503, outages.outage(exc))
        return _answer(body, {"Retry-After": "5"}, context)
    if settings.DEBUG:
        return None
    request = context["request"]
    got_request_exception.send(sender=handler, request=django_request(request))
    logger.error("an API call failed: %s", request.path, exc_info=exc)
    body = problem("failure", "Failure", 500, "Something failed on our side; it is in the log.")
    return _answer(body, {}, context)


def _answer(body: dict[str, Any], headers: dict[str, str], context: dict[str, Any]) -> Response:
    # An error is JSON whatever was asked for: nothing else could be rendered for certain.
    request = context["request"]
    request.accepted_renderer, request.accepted_media_type = JSONRenderer(), MEDIA_TYPE
    return Response(body, status=int(body["status"]), headers=headers, content_type=MEDIA_TYPE)

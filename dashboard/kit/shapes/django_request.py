"""Django's request behind one of DRF, for what takes Django's."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework.request import Request


def django_request(request: Request | HttpRequest) -> HttpRequest:
    """The request as Django knows it."""
    if isinstance(request, Request):
        return request._request  # noqa: SLF001 - DRF names no other way to it
    return request

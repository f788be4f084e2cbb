"""Pages among the records, in the look of Django's admin site."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.errors import ActionError, Forbidden, Missing
from dashboard.identity.permissions import Actor

from .base import SeeOther, flash, flash_refusal


def actor(request: HttpRequest) -> Actor:
    """The person in the workspace that they look at; raises Forbidden for other people."""
    return cast(Actor, cast(Any, admin.site).member(request).actor)


def page(
    request: HttpRequest,
    template: str,
    title: str,
    context: Mapping[str, Any],
    *,
    status: int = 200,
) -> HttpResponse:
    """The page with what each page of the records has."""
    everything = {**admin.site.each_context(request), "title": title, **context}
    return render(request, template, everything, status=status)


def pressed(request: HttpRequest, act: Callable[[], str], back: str) -> HttpResponse:
    """Do what a button is for and lead back with what was done, or why it was not."""
    try:
        flash(request, act())
    except Forbidden:
        raise
    except Missing as error:
        raise Http404 from error
    except ActionError as error:
        flash_refusal(request, error)
    return SeeOther(back)

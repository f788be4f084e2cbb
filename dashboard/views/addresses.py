"""What the address of a listing page may carry: a mistyped parameter would show more than asked.

`/?statsu=failed` is refused as the API refuses it, with a link to what was probably meant. What
links in mails and campaigns add (`utm_source`, `fbclid`) and what signing in adds is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from difflib import get_close_matches
from functools import wraps
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.utils.http import urlencode

from dashboard import errors

from .base import refused

TRACKING: Final = frozenset(
    {"fbclid", "gclid", "gbraid", "wbraid", "msclkid", "mc_cid", "mc_eid", "_gl", "_hsenc", "_hsmi"}
)
PASSED_OVER: Final = TRACKING | {"next", "sesame"}


class UnknownParameter(errors.ActionError):
    """The address of a page carries something that the page does not take."""

    status, code, title = 422, "unknown-parameter", "This address is not right"


def takes[**P](
    *names: str, many: Collection[str] = ()
) -> Callable[[Callable[P, Any]], Callable[P, Any]]:
    """A listing page with these query parameters, of which those in `many` may come repeatedly."""

    def decorate(view: Callable[P, Any]) -> Callable[P, Any]:
        @wraps(view)
        def checked(*args: P.args, **kwargs: P.kwargs) -> Any:
            request: Any = args[0]
            answer = refusal(request, (*names, *many), many=many)
            return view(*args, **kwargs) if answer is None else answer

        return checked

    return decorate


def refusal(
    request: HttpRequest, names: Collection[str], *, many: Collection[str] = ()
) -> HttpResponse | None:
    """The page that names the first parameter which a page does not take; None where it takes all.

    It offers the same address with the name that was probably meant, else without the parameter.
    """
    if request.method not in ("GET", "HEAD"):
        return None
    for name, values in request.GET.lists():
        if _is_passed_over(name):
            continue
        if name not in names:
            return _refused(request, name, next(iter(get_close_matches(name[:80], names, n=1)), ""))
        if len(values) > 1 and name not in many:
            said = f"The address names “{name}” {len(values)} times; once is taken."
            error = UnknownParameter(said)
            return refused(request, error, back=request.path, label="Open the whole list")
    return None


def without_passed_over(request: HttpRequest) -> str:
    """The address without what is passed over; empty where it has none of that.

    For lists of records, which would look for it among their columns.
    """
    every = [(key, value) for key, values in request.GET.lists() for value in values]
    kept = [(key, value) for key, value in every if not _is_passed_over(key)]
    if kept == every:
        return ""
    return f"{request.path}?{urlencode(kept)}"


def _is_passed_over(name: str) -> bool:
    return name in PASSED_OVER or name.startswith("utm_")


def refuse_values(request: HttpRequest) -> HttpResponse:
    """The page for a value that a list of records does not know, instead of the whole list."""
    named = ", ".join(f"{name}={value}" for name, value in request.GET.items())
    error = UnknownParameter(
        f"This list does not know “{named[:200]}”. Nothing is listed: without it the list would "
        "show more than you asked for."
    )
    return refused(request, error, back=request.path, label="Open the whole list")


def _refused(request: HttpRequest, name: str, near: str) -> HttpResponse:
    meant = f" Did you mean “{near}”?" if near else ""
    error = UnknownParameter(
        f"This page does not take “{name[:80]}”.{meant} Nothing is listed: without it the list "
        "would show more than you asked for."
    )
    rest = [(key, value) for key, values in request.GET.lists() for value in values if key != name]
    if near and near not in dict(rest):
        rest = [*rest, *((near, value) for value in request.GET.getlist(name))]
    query = f"?{urlencode(rest)}" if rest else ""
    label = f"Open with “{near}”" if near else f"Open without “{name[:40]}”"
    return refused(request, error, back=request.path + query, label=label)

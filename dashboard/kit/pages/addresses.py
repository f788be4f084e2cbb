"""Check the parameters of a page's address: a typo would show more than intended.

`/?statsu=failed` and `/?status=faild` are refused as the API refuses them, with a link to what was
probably meant. What links in mails and campaigns add (`utm_source`, `fbclid`) and what signing in
adds is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.utils.http import urlencode

from checkpoints.errors import InvalidValue
from dashboard import errors
from dashboard.fields.parameters import CURSOR, Values, Wrong, first_wrong, wrong_value

from .base import refused

TRACKING: Final = frozenset(
    {"fbclid", "gclid", "gbraid", "wbraid", "msclkid", "mc_cid", "mc_eid", "_gl", "_hsenc", "_hsmi"}
)
NOTHING_SHOWN: Final = "Nothing is shown, because it would not be what you asked for."
PASSED_OVER: Final = TRACKING | {"next", "sesame", "src"}  # src: from a mail of ours


class UnknownParameter(errors.ActionError):
    """The address of a page carries something that the page does not take."""

    status, code, title = 422, "unknown-parameter", "This address has a mistake"


def takes[**P](
    many: Mapping[str, Values] | None = None, /, **once: Values
) -> Callable[[Callable[P, Any]], Callable[P, Any]]:
    """A page with these query parameters and their values; those in `many` may come repeatedly."""
    several = dict(many or {})

    def decorate(view: Callable[P, Any]) -> Callable[P, Any]:
        @wraps(view)
        def checked(*args: P.args, **kwargs: P.kwargs) -> Any:
            request: Any = args[0]
            if (answer := refusal(request, once, many=several)) is not None:
                return answer
            try:
                return view(*args, **kwargs)
            except InvalidValue as error:
                cursor = next((name for name, values in once.items() if values is CURSOR), "")
                if error.path != "cursor" or not cursor:
                    raise
                return refuse_value(request, cursor, request.GET.get(cursor, ""), CURSOR)

        vars(checked)["parameters"] = once | several
        return checked

    return decorate


def refusal(
    request: HttpRequest, once: Mapping[str, Values], *, many: Mapping[str, Values] | None = None
) -> HttpResponse | None:
    """The page that names the first parameter or value that a page does not take; None for none.

    It offers the same address with what was probably meant, else without the parameter.
    """
    if request.method not in ("GET", "HEAD"):
        return None
    lists = [pair for pair in request.GET.lists() if not _is_passed_over(pair[0])]
    wrong = first_wrong(lists, once, many)
    return None if wrong is None else _refuse_word(request, wrong)


def without_passed_over(request: HttpRequest) -> str:
    """The address without what is passed over; empty where it has none of that.

    For lists of records, which would look for it among their columns.
    """
    every = [(key, value) for key, values in request.GET.lists() for value in values]
    saved = [(key, value) for key, value in every if not _is_passed_over(key)]
    if saved == every:
        return ""
    return f"{request.path}?{urlencode(saved)}"


def _is_passed_over(name: str) -> bool:
    return name in PASSED_OVER or name.startswith("utm_")


def refuse_values(request: HttpRequest) -> HttpResponse:
    """The page for a value that a list of records does not know, instead of the whole list."""
    named = ", ".join(f"{name}={value}" for name, value in request.GET.items())
    error = UnknownParameter(f"This list does not know “{named[:200]}”. {NOTHING_SHOWN}")
    return refused(request, error, back=request.path, label="Open the whole list")


def refuse_value(request: HttpRequest, name: str, value: str, values: Values) -> HttpResponse:
    """The page for a value that a parameter does not take, with those that it takes."""
    return _refuse_word(request, wrong_value(name, value, values))


def _refuse_word(request: HttpRequest, wrong: Wrong) -> HttpResponse:
    message, near = wrong.explained("This page"), wrong.near
    if wrong.times > 1:
        error = UnknownParameter(message)
        return refused(request, error, back=request.path, label="Open the whole list")
    error = UnknownParameter(f"{message} {NOTHING_SHOWN}")
    if wrong.values is not None:
        return _refuse(request, error, wrong.name, wrong.name, near)
    return _refuse(
        request, error, wrong.name, near, request.GET.get(wrong.name, "") if near else ""
    )


def _refuse(
    request: HttpRequest, error: UnknownParameter, wrong: str, name: str, value: str
) -> HttpResponse:
    """A refusal that links to the address without `wrong`, with `name` in its place if it can."""
    pairs = [(key, text) for key, texts in request.GET.lists() for text in texts if key != wrong]
    expected = bool(value) and name not in dict(pairs)
    if expected:
        pairs.append((name, value))
    query = f"?{urlencode(pairs)}" if pairs else ""
    offer = value if name == wrong else name
    label = f"Open with “{offer}”" if expected else f"Open without “{wrong[:40]}”"
    return refused(request, error, back=request.path + query, label=label)

"""What the address of a page may carry: a mistyped parameter or value would show more than asked.

`/?statsu=failed` and `/?status=faild` are refused as the API refuses them, with a link to what was
probably meant. What links in mails and campaigns add (`utm_source`, `fbclid`) and what signing in
adds is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.utils.http import urlencode

from checkpoints.errors import InvalidValue
from dashboard import errors

from .base import refused
from .parameters import CURSOR, Values

TRACKING: Final = frozenset(
    {"fbclid", "gclid", "gbraid", "wbraid", "msclkid", "mc_cid", "mc_eid", "_gl", "_hsenc", "_hsmi"}
)
NOTHING_SHOWN: Final = "Nothing is shown: it would not be what you asked for."
PASSED_OVER: Final = TRACKING | {"next", "sesame", "src"}  # src: from a mail of ours


class UnknownParameter(errors.ActionError):
    """The address of a page carries something that the page does not take."""

    status, code, title = 422, "unknown-parameter", "This address is not right"


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
    taken = {**once, **(many or {})}
    for name, values in request.GET.lists():
        if _is_passed_over(name):
            continue
        if name not in taken:
            return _refuse_name(request, name, _nearest(name, taken))
        if len(values) > 1 and name in once:
            message = f"The address names “{name}” {len(values)} times; once is taken."
            error = UnknownParameter(message)
            return refused(request, error, back=request.path, label="Open the whole list")
        for value in values:
            if value and not taken[name].fits(value):
                return refuse_value(request, name, value, taken[name])
    return None


def _nearest(word: str, known: Collection[str]) -> str:
    return next(iter(get_close_matches(word[:80], known, n=1)), "")


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
    near = _nearest(value, values.words)
    expected = f" Did you mean “{near}”?" if near else ""
    error = UnknownParameter(
        f"“{name}” does not take “{value[:80]}”.{expected} It takes {values.takes}. {NOTHING_SHOWN}"
    )
    return _refuse(request, error, name, name, near)


def _refuse_name(request: HttpRequest, name: str, near: str) -> HttpResponse:
    expected = f" Did you mean “{near}”?" if near else ""
    error = UnknownParameter(f"This page does not take “{name[:80]}”.{expected} {NOTHING_SHOWN}")
    return _refuse(request, error, name, near, request.GET.get(name, "") if near else "")


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

"""What the views of the API share: the actor, strict bodies, versions, pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Literal, cast

from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter
from pydantic import BaseModel, ValidationError
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from checkpoints import deltas
from checkpoints.errors import InvalidValue
from dashboard.errors import Fault, Invalid, Malformed, NeedsSecondPerson
from dashboard.permissions import Actor, Grant, actor_of, require

from . import limits, once, queries
from .previews import SecondPersonAsked
from .renderers import Negotiation
from .shapes import Problem

LIMIT_DEFAULT, LIMIT_MAX = 50, 200
SEQ_MAX = 2**62
PREVIEW = OpenApiParameter("preview", bool, description="Answer the plan, do nothing.")
PROBLEM = "application/problem+json"
_VERSION = re.compile(r'(?:W/)?"?([0-9]{1,18})"?')
_YES, _NO = ("1", "true", "yes"), ("", "0", "false", "no")


def whole(
    name: str,
    description: str,
    *,
    low: int = 0,
    high: int = SEQ_MAX,
    location: Literal["query", "header"] = "query",
) -> OpenApiParameter:
    """A parameter that takes a whole number; the document and `Door.number` read its bounds."""
    bounds = {"type": "integer", "minimum": low, "maximum": high}
    return OpenApiParameter(name, bounds, location, description=description)


def rows(high: int) -> OpenApiParameter:
    """How many rows a page may have."""
    return whole("limit", f"Rows per page, 1 to {high}.", low=1, high=high)


class Door(APIView):
    """A view for members of a workspace; `self.actor` is who calls, with the roles of now.

    A view with a POST names in `changes` the action that it performs. `previews` says whether
    `?preview=1` only tells the plan, `keyed` whether Idempotency-Key is honoured. Which query
    parameters a call takes is what `extend_schema` says; all others are refused.
    """

    changes: ClassVar[str] = ""
    previews: ClassVar[bool] = False
    keyed: ClassVar[bool] = True
    content_negotiation_class = Negotiation
    actor: Actor

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Sign-in first, then membership and the right, then whether this was answered before."""
        limits.known(request, self.perform_authentication)
        self.check_permissions(request)  # before what only members may learn about the call
        super().initial(request, *args, **kwargs)
        self.actor = actor_of(request.user, _grant(request))
        changes = self.changes if request.method == "POST" else ""
        # Here as well as in the action: whoever lost the right is shown no stored answer either.
        require(self.actor, changes or "read")
        queries.check(request, self)
        acts = changes and not (self.previews and self.flag("preview"))
        if acts:
            # DRF looks for the handler right after this, and a view serves one request.
            handler = str(request.method).lower()
            act = partial(_or_asked, getattr(self, handler))
            if self.keyed and (call := once.call_of(request, self.actor)):
                act = partial(once.once, call, act)
            self.__dict__[handler] = act

    def body[T: BaseModel](self, shape: type[T]) -> T:
        """The request's body as `shape`; raises Invalid with all faults."""
        data = self.request.data
        if isinstance(data, QueryDict):
            data = data.dict()  # an empty body has no type and comes as an empty form
        try:
            return shape.model_validate(data)
        except ValidationError as error:
            raise refusal_of(error) from error

    def expected_version(self) -> int | None:
        """The thread's version named by If-Match, or None where any will do."""
        return self._version_in("If-Match")

    def _version_in(self, name: str) -> int | None:
        header = self.request.headers.get(name, "").strip()
        if header in ("", "*"):
            return None
        found = _VERSION.fullmatch(header)
        if found is None:
            raise Malformed(f'{name} takes a thread\'s version such as "12".', path=name)
        return int(found[1])

    def header_number(self, name: str) -> int:
        """A whole number in a header, 0 where it is missing; raises Malformed."""
        raw = self.request.headers.get(name, "").strip()
        if raw and not (raw.isascii() and raw.isdigit() and int(raw[:20]) <= SEQ_MAX):
            raise Malformed(f"{name} takes a whole number from 0.", path=name)
        return int(raw or 0)

    def seen_version(self) -> int | None:
        """The thread's version named by If-None-Match, or None where any would be news."""
        return self._version_in("If-None-Match")

    def flag(self, name: str) -> bool:
        """Whether a query parameter says yes; raises Invalid where it says neither yes nor no."""
        said = self.text(name).lower()
        if said not in (*_YES, *_NO):
            raise Invalid(name, "must be true or false")
        return said in _YES

    def text(self, name: str) -> str:
        """A query parameter, empty where it is missing; refused if it could not be stored."""
        value = self.request.query_params.get(name, "")
        try:
            deltas.check(value, name)
        except InvalidValue as error:
            raise Invalid(name, error.reason) from error
        if len(value) > 1_000:
            raise Invalid(name, "is longer than 1,000 characters")
        return str(value)

    def number(self, parameter: OpenApiParameter, default: int) -> int:
        """A whole number among the query parameters, as `whole` bounds it; raises Invalid."""
        name, bounds = parameter.name, cast(dict[str, int], parameter.type)
        low, high, raw = bounds["minimum"], bounds["maximum"], self.text(name)
        if not raw:
            return default
        if not (raw.isascii() and raw.isdigit() and len(raw) < 20 and low <= int(raw) <= high):
            raise Invalid(name, f"must be a whole number from {low} to {high}")
        return int(raw)

    def limit(self, parameter: OpenApiParameter) -> int:
        """How many rows a page has."""
        return self.number(parameter, LIMIT_DEFAULT)


def _or_asked(act: Callable[..., Response], *args: Any, **kwargs: Any) -> Response:
    """The answer of `act`; 202 with the request where a policy lets a second person decide first.

    An answer and no error: what was asked is kept, also beside an Idempotency-Key.
    """
    try:
        return act(*args, **kwargs)
    except NeedsSecondPerson as error:
        told = SecondPersonAsked(detail=error.detail, **error.facts)
        return answer(told, status=error.status, Location=str(error.facts["url"]))


def _grant(request: Request) -> Grant | None:
    return request.auth if isinstance(request.auth, Grant) else None


def refusal_of(error: ValidationError) -> Invalid:
    """What a shape refuses, with the path of each value."""
    told = error.errors(include_url=False, include_input=False, include_context=False)
    return Invalid.of(map(_fault, told))


def _fault(error: Any) -> Fault:
    path = "$"
    for key in error["loc"]:
        path = deltas.at(path, key)
    kind = error["type"]
    if kind == "missing":
        return Fault(path, "is required")
    if kind == "extra_forbidden":
        return Fault(path, "is not taken here")
    if kind == "model_type":
        return Fault(path, "must be an object")
    message = str(error["msg"])
    return Fault(path, message[:1].lower() + message[1:300])


def answer(shape: BaseModel, status: int = 200, **headers: str) -> Response:
    """A response from one of our shapes; header names with underscores for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(shape.model_dump(mode="json", by_alias=True), status=status, headers=named)


def refusals(*codes: int) -> dict[Any, Any]:
    """The refusals of a call, for the schema."""
    return {(code, PROBLEM): Problem for code in (401, 403, *codes)}


class Nowhere(Door):
    """Whatever no address stands for: 404 as problem+json."""

    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Also strangers get no other answer than members."""
        super().initial(request, *args, **kwargs)
        raise NotFound("There is nothing at this address.")

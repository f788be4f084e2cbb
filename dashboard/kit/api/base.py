"""Shared base of the API's views: the actor, strict bodies, versions, pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter
from pydantic import BaseModel, ValidationError
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas
from checkpoints.state.deltas import LIMITS
from dashboard.documents.answer_json import Answer, json_value
from dashboard.errors import Fault, Invalid, Malformed, NeedsSecondAdmin, NeedsSecondPerson
from dashboard.identity.permissions import Actor, Grant, actor_of, require
from dashboard.identity.rate_limits import API_ACCOUNT, API_ADDRESS, Limit
from dashboard.kit.shapes.previews import SecondAdminAsked, SecondPersonAsked
from dashboard.kit.shapes.problems import Problem

from . import idempotency_key, limits, query_parameters
from .parameters import LIMIT_DEFAULT, SEQ_MAX, YES, flag, version_in
from .renderers import Negotiation

PREVIEW = flag("preview", "Answer the plan, do nothing.")
TRACEPARENT = OpenApiParameter(
    "traceparent",
    str,
    OpenApiParameter.HEADER,
    description="The caller's trace (W3C): the spans of a new thread belong to it.",
)
PROBLEM = "application/problem+json"


class MemberView(APIView):
    """A view for members of a workspace; `self.actor` is who calls, with the roles of now.

    A view with a POST names in `changes` the action that it performs. `previews` says whether
    `?preview=1` only shows the plan, `keyed` whether Idempotency-Key is honoured,
    `sets_up` whether it serves those who must have a second factor and have none. Which query
    parameters a call takes is what `extend_schema` says; all others are refused.
    """

    changes: ClassVar[str] = ""
    previews: ClassVar[bool] = False
    keyed: ClassVar[bool] = True
    sets_up: ClassVar[bool] = False
    counted_by: ClassVar[tuple[Limit, Limit]] = (API_ADDRESS, API_ACCOUNT)
    content_negotiation_class = Negotiation
    actor: Actor

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Sign-in first, then membership and the right."""
        limits.known(request, self.perform_authentication, *self.counted_by)
        self.check_permissions(request)  # before what only members may learn about the call
        super().initial(request, *args, **kwargs)
        self.actor = actor_of(request.user, _grant(request))
        if self.sets_up and self.actor.login is not None:
            self.actor = replace(self.actor, lacks_factor=False)
        # Here as well as in the action: without the right no stored answer is shown either.
        require(self.actor, self._changes(request) or "read")
        query_parameters.check(request, self)

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """DRF's order of steps, with `_perform` between the checks and the method's handler."""
        self.args, self.kwargs = args, kwargs
        self.request = self.initialize_request(request, *args, **kwargs)
        self.headers = self.default_response_headers
        try:
            self.initial(self.request, *args, **kwargs)
            response = self._perform(partial(self._handler(), self.request, *args, **kwargs))
        except Exception as error:
            response = self.handle_exception(error)
        response = self.finalize_response(self.request, response, *args, **kwargs)
        limits.announce(self.request, response)
        if isinstance(response, Response):
            response.add_post_render_callback(_forget_context)
        return response

    def _handler(self) -> Callable[..., Any]:
        method = str(self.request.method).lower()
        if method not in self.http_method_names:
            return self.http_method_not_allowed
        return getattr(self, method, self.http_method_not_allowed)

    def _perform(self, act: Callable[[], Any]) -> Any:
        """The answer of `act`; a change is done once per Idempotency-Key, where it takes one."""
        if not self._changes(self.request) or (self.previews and self.flag("preview")):
            return act()
        act = partial(_or_asked, act)
        if self.keyed and (call := idempotency_key.call_of(self.request, self.actor)):
            return idempotency_key.once(call, act, self.before_replay)
        return act()

    def before_replay(self) -> None:
        """Check what has to hold before a former answer is given again; raises ActionErrors."""

    def _changes(self, request: Request) -> str:
        """The action that a request performs, empty for one that only reads."""
        return self.changes if request.method == "POST" else ""

    def body_max(self) -> int:
        """The most bytes that a body may have."""
        return LIMITS.request_bytes

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
        try:
            return version_in(self.request.headers.get(name, "").strip())
        except ValueError:
            message = f'{name} takes a thread\'s version such as "12".'
            raise Malformed(message, path=name) from None

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
        """True if the query parameter has one of the values in `YES`."""
        return self.text(name) in YES

    def text(self, name: str) -> str:
        """A query parameter, empty where it is missing; refused if it could not be stored."""
        value = self.request.query_params.get(name, "")
        try:
            deltas.check(value, name)
        except InvalidValue as error:
            raise Invalid(name, error.reason) from error
        return str(value)

    def number(self, parameter: OpenApiParameter, default: int) -> int:
        """A whole number among the query parameters."""
        raw = self.text(parameter.name)
        return int(raw) if raw else default

    def limit(self, parameter: OpenApiParameter) -> int:
        """Rows per page: the query parameter or its default."""
        return self.number(parameter, LIMIT_DEFAULT)


def _or_asked(act: Callable[[], Response]) -> Response:
    """The answer of `act`; 202 with what is asked where a second person or admin decides first.

    An answer and no error: what was asked is kept, also beside an Idempotency-Key.
    """
    try:
        return act()
    except NeedsSecondPerson as error:
        payload = SecondPersonAsked(detail=error.detail, **error.facts)
        return answer(payload, status=error.status, Location=str(error.facts["url"]))
    except NeedsSecondAdmin as error:
        waits = SecondAdminAsked(detail=error.detail, **error.facts)
        return answer(waits, status=error.status, Location=str(error.facts["url"]))


def _grant(request: Request) -> Grant | None:
    return request.auth if isinstance(request.auth, Grant) else None


def refusal_of(error: ValidationError) -> Invalid:
    """Convert a validation error to Invalid, with the path of each value."""
    errors = error.errors(include_url=False, include_input=False)
    return Invalid.of(map(_fault, errors))


def _fault(error: Any) -> Fault:
    path, keys = "$", error["loc"]
    if keys[-1:] == ("[key]",):  # the name of a member, as pydantic says it: no place below it
        keys = keys[:-1]
    for key in keys:
        path = deltas.at(path, key)
    kind = error["type"]
    if kind == "missing" or (kind == "string_too_short" and error["ctx"]["min_length"] == 1):
        return Fault(path, "is required")
    if kind == "extra_forbidden":
        return Fault(path, "is not taken here")
    if kind == "model_type":
        return Fault(path, "must be an object")
    if kind == "string_too_long":
        return Fault(path, f"is longer than {error['ctx']['max_length']:,} characters")
    if kind == "greater_than_equal":
        return Fault(path, f"must be at least {error['ctx']['ge']:,}")
    if kind == "less_than_equal":
        return Fault(path, f"must be at most {error['ctx']['le']:,}")
    if kind == "literal_error":
        known = error["ctx"]["expected"].replace("'", "").replace(" or ", ", ")
        return Fault(path, f"must be one of {known.lstrip(', ')}")
    message = str(error["msg"])
    return Fault(path, message[:1].lower() + message[1:300])


def answer(shape: Answer, status: int = 200, **headers: str) -> Response:
    """A response with a shape or a row; header names with underscores for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(json_value(shape), status=status, headers=named)


def refusals(*codes: int) -> dict[Any, Any]:
    """The refusals of a call, for the schema."""
    return {(code, PROBLEM): Problem for code in (401, 403, *codes)}


class Nowhere(MemberView):
    """Whatever no address stands for: 404 as problem+json."""

    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Also strangers get no other answer than members."""
        super().initial(request, *args, **kwargs)
        raise NotFound("There is nothing at this address.")


def _forget_context(response: Any) -> None:
    """Empty what a renderer got: it refers to the answer, which would stay in memory in a cycle."""
    response.renderer_context.clear()

"""Base of the calls of SCIM: the media type, who calls, refusals in its form, pages of lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from django.conf import settings
from rest_framework.exceptions import NotFound
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dashboard.errors import Invalid, Malformed
from dashboard.identity.administrator import Administrator
from dashboard.identity.permissions import Grant, actor_of, require
from dashboard.kit.api import limits
from dashboard.kit.api.authentication import TokenAuthentication
from dashboard.kit.api.parsers import StrictJSONParser
from dashboard.kit.shapes import problems
from dashboard.people.directory.provisioned import Taken

from .filters import WrongFilter, WrongPath, equals

MEDIA_TYPE: Final = "application/scim+json"
LIST: Final = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
ERROR: Final = "urn:ietf:params:scim:api:messages:2.0:Error"
PAGE_MAX: Final = 200
NUMBER_MAX: Final = 2**31 - 1
_NUMBER: Final = re.compile(r"-?[0-9]{1,10}")


# {attribute in small letters: what selects the rows that have a value of it}
type Columns = Mapping[str, Callable[[str], dict[str, Any]]]


class ScimParser(StrictJSONParser):
    """The strict decoder under the media type of SCIM."""

    media_type = MEDIA_TYPE


class ScimRenderer(JSONRenderer):
    """JSON under the media type of SCIM."""

    media_type = MEDIA_TYPE
    format = "scim"


class ScimView(APIView):
    """A call with the token of a directory; a login of a browser opens nothing here."""

    schema = None
    authentication_classes = (TokenAuthentication,)
    parser_classes = (ScimParser, StrictJSONParser)
    renderer_classes = (ScimRenderer,)
    who: Administrator

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Count and sign in, then the right; the actions ask again."""
        limits.known(request, self.perform_authentication)
        self.check_permissions(request)
        super().initial(request, *args, **kwargs)
        grant = request.auth if isinstance(request.auth, Grant) else None
        self.who = Administrator(actor_of(request.user, grant), bool(request.user.is_superuser))
        require(self.who.actor, "scim")

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """Always the one form: clients ask for JSON by several names."""
        return ScimRenderer(), MEDIA_TYPE

    def get_exception_handler(self) -> Callable[..., Response | None]:
        """Refusals as SCIM has them."""
        return _refusal

    def body(self) -> Mapping[str, Any]:
        """The body, an object; raises Invalid."""
        data = self.request.data
        if not isinstance(data, dict):
            raise Invalid("$", "must be an object")
        return data

    def page(self, rows: Any, columns: Columns, shown: Callable[[list[Any]], Any]) -> Response:
        """The list that `filter`, `startIndex` and `count` select; `columns` may be filtered by."""
        if text := self.request.query_params.get("filter", ""):
            name, value = equals(text)
            if name not in columns:
                message = f"Takes only: {', '.join(f'{one} eq' for one in columns)}."
                raise WrongFilter(message)
            rows = rows.filter(**columns[name](value))
        start, count = self._number("startIndex", 1), self._number("count", PAGE_MAX)
        first = max(start, 1) - 1
        selected = list(rows[first : first + min(max(count, 0), PAGE_MAX)])
        resources = shown(selected)
        payload = {
            "schemas": [LIST],
            "totalResults": rows.count(),
            "startIndex": first + 1,
            "itemsPerPage": len(resources),
            "Resources": resources,
        }
        return Response(payload)

    def without(self) -> set[str]:
        """Attributes that the client does not want."""
        text = self.request.query_params.get("excludedAttributes", "")
        return {name.strip().lower() for name in text.split(",")}

    def _number(self, name: str, default: int) -> int:
        text = self.request.query_params.get(name, "") or str(default)
        if not _NUMBER.fullmatch(text):
            raise Invalid(name, "must be a whole number")
        return min(int(text), NUMBER_MAX)


class Nowhere(ScimView):
    """Answer 404 for every other address."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Members of nothing learn nothing."""
        super().initial(request, *args, **kwargs)
        raise NotFound("There is nothing at this address.")


def created(payload: Mapping[str, Any]) -> Response:
    """201 with the address of what was made."""
    return Response(payload, status=201, headers={"Location": payload["meta"]["location"]})


def location(kind: str, ident: str) -> str:
    """The address of a resource."""
    return f"{settings.GATEPOST_BASE_URL.rstrip('/')}/scim/v2/{kind}/{ident}"


def number_of(ident: str) -> int:
    """The id of a resource as our number; 0, which nobody has, for what is none."""
    fits = ident.isascii() and ident.isdigit() and len(ident) <= 10
    return int(ident) if fits and int(ident) <= NUMBER_MAX else 0


# RFC 7644, 3.12: what kind of mistake a refusal is about.
_KINDS: Final = (
    (WrongFilter, "invalidFilter"),
    (WrongPath, "invalidPath"),
    (Taken, "uniqueness"),
    (Malformed, "invalidSyntax"),
    (Invalid, "invalidValue"),
)


def _refusal(exc: Exception, context: dict[str, Any]) -> Response | None:
    """The problem that the API would answer, in the form of SCIM."""
    answer = problems.handler(exc, context)
    if answer is None:
        return None
    data: Any = answer.data
    status = 400 if answer.status_code == 422 else answer.status_code
    payload = {"schemas": [ERROR], "status": str(status), "detail": data["detail"]}
    if kind := next((kind for types, kind in _KINDS if isinstance(exc, types)), ""):
        payload["scimType"] = kind
    headers = {name: value for name, value in answer.items() if name != "Content-Type"}
    request = context["request"]
    request.accepted_renderer, request.accepted_media_type = ScimRenderer(), MEDIA_TYPE
    return Response(payload, status=status, headers=headers)

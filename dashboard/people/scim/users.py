"""People of the directory: list, get, make, replace, change, remove."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.contrib.auth import get_user_model
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.errors import Invalid
from dashboard.people.directory import provisioned
from dashboard.people.sso import identities

from .base import Columns, ScimView, created, location, number_of
from .changes import Operation, member, operations_in, text, yes_or_no

SCHEMA: Final = "urn:ietf:params:scim:schemas:core:2.0:User"
COLUMNS: Final[Columns] = {
    "username": lambda value: {"username__iexact": get_user_model().normalize_username(value)},
    "id": lambda value: {"pk": number_of(value)},
    "externalid": lambda value: {
        "pk": getattr(identities.user_of(identities.SCIM, value), "pk", 0)
    },
    "emails.value": lambda value: {"email__iexact": value},
}
# The one address that we keep, as `shown` describes it.
_OURS: Final = re.compile(r'\s*(?:type\s+eq\s+"work"|primary\s+eq\s+"?true"?)\s*', re.IGNORECASE)
NAMES: Final = {"givenname": "first_name", "familyname": "last_name"}


class Users(ScimView):
    """All people of the directory, or a new one."""

    def get(self, request: Request) -> Response:
        """A page of them; `filter` by userName, externalId, id or the mail address."""
        return self.page(provisioned.people(self.who), COLUMNS, shown)

    def post(self, request: Request) -> Response:
        """A new person, without a role until a group opens one."""
        values, external_id = read(self.body())
        user = provisioned.provision(self.who, values, external_id=external_id)
        return created(shown([user])[0])


class OneUser(ScimView):
    """One person of the directory."""

    def get(self, request: Request, ident: str) -> Response:
        """As they are now."""
        return Response(shown([provisioned.person(self.who, number_of(ident))])[0])

    def put(self, request: Request, ident: str) -> Response:
        """Replace all values; `active` stays as it is where it is left out."""
        values, external_id = read(self.body())
        if member(self.body(), "active") is None:
            del values["is_active"]
        return self._changed(ident, values, external_id)

    def patch(self, request: Request, ident: str) -> Response:
        """Some values; attributes that we do not keep are passed over."""
        values: dict[str, Any] = {}
        external_id = None
        for one in operations_in(self.body()):
            if one.attribute == "externalid":
                external_id = text(None if one.op == "remove" else one.value, one.path)
            else:
                values |= _patched(one)
        return self._changed(ident, values, external_id)

    def delete(self, request: Request, ident: str) -> Response:
        """Remove a person, from the directory as well; the sign-in ends immediately."""
        provisioned.remove_person(self.who, number_of(ident))
        return Response(status=204)

    def _changed(self, ident: str, values: Mapping[str, Any], external_id: str | None) -> Response:
        user = provisioned.change_person(
            self.who, number_of(ident), values, external_id=external_id
        )
        return Response(shown([user])[0])


def read(body: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """(values of an account, externalId) of a whole resource; raises Invalid."""
    name = member(body, "name") or {}
    if not isinstance(name, dict):
        raise Invalid("$.name", "must be an object")
    active = member(body, "active")
    values = {
        "username": text(member(body, "userName"), "$.userName"),
        "email": _mail(member(body, "emails"), "$.emails"),
        "is_active": True if active is None else yes_or_no(active, "$.active"),
    }
    for key, column in NAMES.items():
        values[column] = text(member(name, key), f"$.name.{key}")
    return values, text(member(body, "externalId"), "$.externalId")


def _patched(one: Operation) -> dict[str, Any]:
    """Values of an account that one operation changes; none where we do not keep the attribute."""
    value = None if one.op == "remove" else one.value
    match one.attribute, one.sub:
        case "active", "":
            return {"is_active": False if value is None else yes_or_no(value, one.path)}
        case "username", "":
            return {"username": text(value, one.path)}
        case "name", "" if isinstance(value, dict):
            named = {k: member(value, k) for k in NAMES}
            return {NAMES[k]: text(v, one.path) for k, v in named.items() if v is not None}
        case "name", sub if sub in NAMES:
            return {NAMES[sub]: text(value, one.path)}
        case "emails", _ if one.where and not _OURS.fullmatch(one.where):
            return {}
        case "emails", "":
            return {"email": _mail([value] if isinstance(value, dict) else value, one.path)}
        case "emails", "value":
            return {"email": text(value, one.path)}
    return {}


def _mail(value: Any, at: str) -> str:
    """The primary address of a list of them, else the first; empty without."""
    if value is None:
        return ""
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise Invalid(at, "is a list of objects")
    ranked = sorted(value, key=lambda one: member(one, "primary") is not True)
    return text(member(ranked[0], "value"), at) if ranked else ""


def shown(users: Iterable[Any]) -> list[dict[str, Any]]:
    """People as SCIM has them; two statements for all."""
    rows = list(users)
    subjects = identities.subjects_of(identities.SCIM, [user.pk for user in rows])
    return [_resource(user, subjects.get(user.pk, "")) for user in rows]


def _resource(user: Any, subject: str) -> dict[str, Any]:
    payload = {
        "schemas": [SCHEMA],
        "id": str(user.pk),
        "userName": user.get_username(),
        "name": {
            "givenName": user.first_name,
            "familyName": user.last_name,
            "formatted": user.get_full_name(),
        },
        "displayName": user.get_full_name() or user.get_username(),
        "active": user.is_active,
        "groups": [
            {"value": str(one.pk), "display": one.name, "$ref": location("Groups", str(one.pk))}
            for one in user.groups.all()
        ],
        "meta": {
            "resourceType": "User",
            "created": user.date_joined.isoformat(),
            "location": location("Users", str(user.pk)),
        },
    }
    if user.email:
        payload["emails"] = [{"value": user.email, "type": "work", "primary": True}]
    if subject and subject != f"user:{user.pk}":
        payload["externalId"] = subject
    return payload

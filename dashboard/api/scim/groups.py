"""Groups of the directory: list, get, make, replace, change, remove."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.actions.directory import provisioned
from dashboard.errors import Invalid

from .base import Columns, ScimView, created, location, number_of
from .changes import Operation, member, operations_in, text
from .filters import equals

SCHEMA: Final = "urn:ietf:params:scim:schemas:core:2.0:Group"
COLUMNS: Final[Columns] = {
    "displayname": lambda value: {"name": value},
    "id": lambda value: {"pk": number_of(value)},
}


class _GroupView(ScimView):
    """A call that answers groups."""

    def shown(self, row: Any) -> dict[str, Any]:
        """A group as SCIM has it, with those members whom the directory keeps here."""
        payload: dict[str, Any] = {
            "schemas": [SCHEMA],
            "id": str(row.pk),
            "displayName": row.name,
            "meta": {"resourceType": "Group", "location": location("Groups", str(row.pk))},
        }
        if "members" not in self.without():
            reached = provisioned.people(self.who).filter(groups=row)
            payload["members"] = [
                {
                    "value": str(user.pk),
                    "display": user.get_username(),
                    "$ref": location("Users", str(user.pk)),
                }
                for user in reached
            ]
        return payload


class Groups(_GroupView):
    """All groups, or a new one."""

    def get(self, request: Request) -> Response:
        """A page of them; `filter` by displayName or id."""
        rows = provisioned.groups(self.who)
        return self.page(rows, COLUMNS, lambda some: [self.shown(row) for row in some])

    def post(self, request: Request) -> Response:
        """A new group with its members."""
        name, members = read(self.body())
        row = provisioned.save_group(self.who, None, name=name, members=members)
        return created(self.shown(row))


class OneGroup(_GroupView):
    """One group."""

    def get(self, request: Request, ident: str) -> Response:
        """As it is now."""
        return Response(self.shown(provisioned.group(self.who, number_of(ident))))

    def put(self, request: Request, ident: str) -> Response:
        """Replace name and members."""
        name, members = read(self.body())
        return self._saved(ident, name, members)

    def patch(self, request: Request, ident: str) -> Response:
        """Members that come and go, or another name."""
        row = provisioned.group(self.who, number_of(ident))
        name, had = row.name, set(self._members(row))
        members = set(had)
        for one in operations_in(self.body()):
            if one.attribute == "displayname" and one.op != "remove":
                name = text(one.value, one.path)
            elif one.attribute == "members":
                members = _patched(members, one)
        return self._saved(ident, name, None if members == had else members)

    def delete(self, request: Request, ident: str) -> Response:
        """Its members lose what it opened."""
        provisioned.remove_group(self.who, number_of(ident))
        return Response(status=204)

    def _members(self, row: Any) -> list[int]:
        return list(provisioned.people(self.who).filter(groups=row).values_list("pk", flat=True))

    def _saved(self, ident: str, name: str, members: set[int] | None) -> Response:
        row = provisioned.group(self.who, number_of(ident))
        row = provisioned.save_group(self.who, row.pk, name=name, members=members)
        return Response(self.shown(row))


def read(body: Mapping[str, Any]) -> tuple[str, set[int]]:
    """(name, members) of a whole resource; raises Invalid."""
    name = text(member(body, "displayName"), "$.displayName")
    return name, _ids(member(body, "members"), "$.members")


def _patched(members: set[int], one: Operation) -> set[int]:
    if one.where:
        name, value = equals(one.where)
        if one.op != "remove" or name != "value":
            raise Invalid(one.path, 'takes members[value eq "ID"] only to remove one')
        return members - {number_of(value)}
    if one.op == "remove":
        return members - _ids(one.value, one.path) if one.value else set()
    return _ids(one.value, one.path) | (members if one.op == "add" else set())


def _ids(value: Any, at: str) -> set[int]:
    """The ids that members name; raises Invalid."""
    if value is None:
        return set()
    entries = value if isinstance(value, list) else [value]
    if not all(isinstance(entry, dict) for entry in entries):
        raise Invalid(at, "is a list of objects")
    return {number_of(text(member(entry, "value"), at)) for entry in entries}

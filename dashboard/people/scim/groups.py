"""Groups of the directory: list, get, make, replace, change, remove."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.errors import Invalid
from dashboard.people.directory import provisioned

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
        row = provisioned.add_group(self.who, name=name, members=members)
        return created(self.shown(row))


class OneGroup(_GroupView):
    """One group."""

    def get(self, request: Request, ident: str) -> Response:
        """As it is now."""
        return Response(self.shown(provisioned.group(self.who, number_of(ident))))

    def put(self, request: Request, ident: str) -> Response:
        """Replace name and members."""
        name, members = read(self.body())
        return self._saved(ident, lambda *_: (name, members))

    def patch(self, request: Request, ident: str) -> Response:
        """Members that come and go, or another name."""
        operations = operations_in(self.body())

        def change(name: str, had: set[int]) -> tuple[str, set[int]]:
            members = set(had)
            for one in operations:
                if one.attribute == "displayname" and one.op != "remove":
                    name = text(one.value, one.path)
                elif one.attribute == "members":
                    members = _patched(members, one)
            return name, members

        return self._saved(ident, change)

    def delete(self, request: Request, ident: str) -> Response:
        """Its members lose what it opened."""
        provisioned.remove_group(self.who, number_of(ident))
        return Response(status=204)

    def _saved(self, ident: str, change: provisioned.GroupChange) -> Response:
        return Response(self.shown(provisioned.change_group(self.who, number_of(ident), change)))


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
        return set() if one.value is None else members - _ids(one.value, one.path)
    return _ids(one.value, one.path) | (members if one.op == "add" else set())


def _ids(value: Any, at: str) -> set[int]:
    """The ids that members name; raises Invalid."""
    if value is None:
        return set()
    entries = value if isinstance(value, list) else [value]
    if not all(isinstance(entry, dict) for entry in entries):
        raise Invalid(at, "is a list of objects")
    if any(str(member(entry, "type") or "User").lower() != "user" for entry in entries):
        raise Invalid(at, "takes people only, no groups")  # ids of groups are not those of people
    return {number_of(text(member(entry, "value"), at)) for entry in entries}

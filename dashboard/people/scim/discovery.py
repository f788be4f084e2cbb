"""Capabilities of this side of SCIM, which directories ask for before they begin."""

from __future__ import annotations

from typing import Any, Final

from rest_framework.request import Request
from rest_framework.response import Response

from . import groups, users
from .base import LIST, PAGE_MAX, ScimView, location

_CORE: Final = "urn:ietf:params:scim:schemas:core:2.0"
_NO: Final = {"supported": False}


def _attribute(name: str, *, kind: str = "string", **more: Any) -> dict[str, Any]:
    plain = {"multiValued": False, "required": False, "caseExact": True, "mutability": "readWrite"}
    return {"name": name, "type": kind, **plain, "returned": "default", "uniqueness": "none"} | more


_VALUE: Final = [_attribute("value"), _attribute("primary", kind="boolean")]
_NAME: Final = [_attribute("givenName"), _attribute("familyName")]
SCHEMAS: Final = {
    users.SCHEMA: (
        "User",
        [
            _attribute("userName", required=True, uniqueness="server", caseExact=False),
            _attribute("externalId", uniqueness="server"),
            _attribute("name", kind="complex", subAttributes=_NAME),
            _attribute("emails", kind="complex", multiValued=True, subAttributes=_VALUE),
            _attribute("active", kind="boolean"),
            _attribute(
                "groups",
                kind="complex",
                multiValued=True,
                mutability="readOnly",
                subAttributes=[_attribute("value")],
            ),
        ],
    ),
    groups.SCHEMA: (
        "Group",
        [
            _attribute("displayName", required=True, uniqueness="server"),
            _attribute(
                "members",
                kind="complex",
                multiValued=True,
                subAttributes=[_attribute("value", mutability="immutable")],
            ),
        ],
    ),
}


class ServiceProviderConfig(ScimView):
    """Supported parts of the protocol."""

    def get(self, request: Request) -> Response:
        """RFC 7643, section 5."""
        return Response(
            {
                "schemas": [f"{_CORE}:ServiceProviderConfig"],
                "patch": {"supported": True},
                "bulk": _NO | {"maxOperations": 0, "maxPayloadSize": 0},
                "filter": {"supported": True, "maxResults": PAGE_MAX},
                "changePassword": _NO,
                "sort": _NO,
                "etag": _NO,
                "authenticationSchemes": [
                    {
                        "type": "oauthbearertoken",
                        "name": "Token",
                        "description": "A token of a superuser with the scope `scim`.",
                    }
                ],
                "meta": {
                    "resourceType": "ServiceProviderConfig",
                    "location": location("ServiceProviderConfig", "").rstrip("/"),
                },
            }
        )


class ResourceTypes(ScimView):
    """Users and groups."""

    def get(self, request: Request, ident: str = "") -> Response:
        """RFC 7643, section 6."""
        rows = [
            {
                "schemas": [f"{_CORE}:ResourceType"],
                "id": name,
                "name": name,
                "endpoint": f"/{name}s",
                "schema": schema,
                "meta": {
                    "resourceType": "ResourceType",
                    "location": location("ResourceTypes", name),
                },
            }
            for schema, (name, _) in SCHEMAS.items()
        ]
        return _listed(rows)


class Schemas(ScimView):
    """The attributes that are kept here."""

    def get(self, request: Request) -> Response:
        """RFC 7643, section 7."""
        rows = [
            {
                "schemas": [f"{_CORE}:Schema"],
                "id": schema,
                "name": name,
                "attributes": attributes,
                "meta": {"resourceType": "Schema", "location": location("Schemas", schema)},
            }
            for schema, (name, attributes) in SCHEMAS.items()
        ]
        return _listed(rows)


def _listed(rows: list[dict[str, Any]]) -> Response:
    counted = {"totalResults": len(rows), "startIndex": 1, "itemsPerPage": len(rows)}
    return Response({"schemas": [LIST], **counted, "Resources": rows})

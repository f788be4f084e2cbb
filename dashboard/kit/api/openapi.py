"""Add to each call of the OpenAPI document what all share: its refusals and headers."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any, Literal

from drf_spectacular.contrib.pydantic import PydanticExtension
from drf_spectacular.drainage import set_override
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from pydantic import BaseModel

from dashboard.documents.answer_json import name_of, schema_of
from dashboard.kit.shapes.problems import Problem

from . import idempotency_key, limits
from .base import PROBLEM

# Who may come in, what can be answered at all, and a database that is away.
ALWAYS = (401, 403, 406, 429, 503)
WITH_BODY = (400, 413, 415, 422)
# Beside each body: how many bytes it may have as it is sent.
MAX_BYTES = "x-max-bytes"
_TEXT = {"type": "string"}
ETAG = {"description": "The thread's version, for If-Match.", "schema": _TEXT}
LOCATION = {"description": "The address of what was made.", "schema": _TEXT}
RETRY_AFTER = {"description": "Seconds until trying again makes sense.", "schema": _TEXT}
RATE_LIMIT = {
    limits.POLICY: {
        "description": 'What is limited: `"token";q=6000;w=60` is 6,000 calls in 60 seconds.',
        "schema": _TEXT,
    },
    limits.LIMIT: {
        "description": 'How it stands: `"token";r=5998;t=41` is 5,998 calls left for 41 seconds.',
        "schema": _TEXT,
    },
}
REPLAYED = {"description": "`true`: the answer that the same call had before.", "schema": _TEXT}
DECIDED = ("200", "403", "404", "409", "422")  # what a delivery's id keeps
VERSIONED = (
    "ThreadDetail",
    "State",
    "EditAnswer",
    "CancelAnswer",
    "MoveUpAnswer",
    "RollBackPreview",
)


class AnswerExtension(PydanticExtension):
    """Shapes and rows of readers as components of the document."""

    priority = 1

    @classmethod
    def _matches(cls, target: Any) -> bool:
        return isinstance(target, type) and (is_dataclass(target) or issubclass(target, BaseModel))

    def get_name(self, auto_schema: Any, direction: Any) -> str:
        """The name of the component."""
        set_override(self.target, "suppress_collision_warning", True)
        return name_of(self.target)

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        """The schema of the component; those below it become components too."""
        schema = schema_of(self.target, "#/components/schemas/{model}")
        for name, part in schema.pop("$defs", {}).items():
            below = ResolvedComponent(name, ResolvedComponent.SCHEMA, part, name)
            auto_schema.registry.register_on_missing(below)
        return schema


class Described(AutoSchema):
    """Adds to each operation the refusals its kind can meet, and the headers of its answers."""

    def _get_response_bodies(
        self, direction: Literal["request", "response"] = "response"
    ) -> dict[str, Any]:
        result: dict[str, Any] = super()._get_response_bodies(direction)
        for number in self._refusals():
            if (code := str(number)) not in result:
                result[code] = self._get_response_for_code(Problem, code, [PROBLEM])  # type: ignore[no-untyped-call]
        for code in ("429", "503"):
            result[code]["headers"] = {"Retry-After": RETRY_AFTER}
        if hasattr(self.view, "counted_by"):
            for body in result.values():
                body["headers"] = {**body.get("headers", {}), **RATE_LIMIT}
        for code, body in result.items():
            shapes = {
                media.get("schema", {}).get("$ref", "").rpartition("/")[2]
                for media in body.get("content", {}).values()
            }
            if code == "304":  # the shape is that of 200, and is not sent again
                body.setdefault("headers", {})["ETag"] = ETAG
            if shapes & {*VERSIONED}:
                body.setdefault("headers", {})["ETag"] = ETAG
                if code == "201":
                    body["headers"]["Location"] = LOCATION
            if code.startswith("2") and self._takes_key():
                body.setdefault("headers", {})[idempotency_key.REPLAYED] = REPLAYED
            if code in DECIDED and (name := getattr(self.view, "replayed_as", "")):
                body.setdefault("headers", {})[name] = REPLAYED
        return dict(sorted(result.items()))

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """The call, its body with the bytes that it may have."""
        describe: Any = super().get_operation
        result: dict[str, Any] | None = describe(*args, **kwargs)
        if result is not None and "requestBody" in result:
            self._describe_body(result["requestBody"])
        return result

    def _describe_body(self, body: dict[str, Any]) -> None:
        """Add the form and the size: JSON Schema can bound the bytes of a file, not of JSON."""
        view: Any = self.view
        content, n_bytes = body["content"], view.body_max()
        if describe_form := getattr(view, "form", None):
            content["multipart/form-data"]["schema"] = describe_form()
            body["required"] = True
        if getattr(view, "reads_any", False):
            content["*/*"] = dict(content["application/json"])
        for media in content.values():
            media[MAX_BYTES] = n_bytes
        body["description"] = f"At most {n_bytes:,} bytes."

    def get_override_parameters(self) -> list[Any]:
        """The header that every change but an upload takes."""
        own = super().get_override_parameters()
        return [*own, idempotency_key.PARAMETER] if self._takes_key() else own

    def _takes_key(self) -> bool:
        return self.method == "POST" and bool(getattr(self.view, "keyed", False))

    def _refusals(self) -> set[int]:
        codes = {*ALWAYS}
        if self.method == "POST":
            codes |= {*WITH_BODY} - ({415} if getattr(self.view, "reads_any", False) else set())
        for parameter in self._get_parameters():
            if parameter["in"] == "path":
                codes.add(404)
            elif parameter["name"] == "If-Match":
                codes |= {400, 412}
            elif parameter["name"] == idempotency_key.NAME:
                codes |= {400, 409, 422}
            elif parameter["in"] == "header":  # a version or a number that cannot be read
                codes.add(400)
            if parameter["in"] == "query" or parameter["schema"].get("format") != "uuid":
                codes.add(422)
        return codes

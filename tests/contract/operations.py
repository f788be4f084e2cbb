"""The OpenAPI document and the calls in it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator


@dataclass(frozen=True)
class Operation:
    """One call as the document describes it."""

    id: str
    method: str
    path: str
    spec: dict[str, Any]

    @property
    def body_type(self) -> str:
        """The media type of its body, empty where it takes none."""
        return next(iter(self.spec.get("requestBody", {}).get("content", {})), "")

    @property
    def query(self) -> list[str]:
        return [p["name"] for p in self.spec.get("parameters", []) if p["in"] == "query"]


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document."""
    made = SchemaGenerator().get_schema(request=None, public=True)
    return json.loads(json.dumps(made))  # plain types


# What a service signs for one delivery; no person calls it. entries.hook and test_hooks do.
SIGNED = [{"webhookSignature": []}]


@cache
def operations() -> dict[str, Operation]:
    """All calls that people make, by their operationId."""
    results = [
        Operation(spec["operationId"], method, path, spec)
        for path, item in document()["paths"].items()
        for method, spec in item.items()
        if spec["security"] != SIGNED
    ]
    assert len({one.id for one in results}) == len(results)
    return {one.id: one for one in results}

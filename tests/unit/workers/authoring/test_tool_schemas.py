"""The schema of a tool's arguments keeps what its author wrote beside their types."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from pydantic import Field

from approvals.rules.overlap import overlaps
from dashboard.html import differences
from workers.authoring.graph import tool


class Shift(TypedDict):
    """One shift of a rota."""

    id: int
    slot: str


@tool("rota.publish", idempotent=True)
def publish(
    shifts: Annotated[list[Shift], Field(json_schema_extra={"x-key": "slot"})],
    note: Annotated[str, Field(max_length=9)] = "",
    *,
    key: str,
) -> None:
    """Publish who works when."""


def test_a_key_that_is_declared_on_an_argument_is_compared_by() -> None:
    assert publish.schema["properties"]["shifts"]["x-key"] == "slot"
    assert publish.schema["properties"]["note"]["maxLength"] == 9
    old: dict[str, Any] = {"shifts": [{"id": 1, "slot": "a"}, {"id": 2, "slot": "b"}]}
    new: dict[str, Any] = {"shifts": [{"id": 2, "slot": "a"}, {"id": 3, "slot": "c"}]}
    (one,) = overlaps(old, new, publish.schema)
    assert (one.field, one.again, one.new) == ("slot", 1, 1)
    changes = differences.changes(new, old, publish.schema)
    assert (changes.added, changes.changed, changes.removed) == (1, 1, 1)
    swapped = {"shifts": [{"id": 2, "slot": "a"}, {"id": 1, "slot": "b"}]}
    assert differences.changes(swapped, old, publish.schema).changed == 2

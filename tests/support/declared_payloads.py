"""Refuse events of the product with payload fields that their kind does not declare."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from checkpoints.states import FIELDS, EventKind, WorkspaceEventKind
from checkpoints.store.statement import moves

TYPES: dict[str, type | tuple[type, ...]] = {
    "text": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "list": (list, tuple),
    "object": Mapping,
    "any": object,
}


def undeclared(kind: EventKind | WorkspaceEventKind, data: Mapping[str, Any]) -> list[str]:
    """Fields of a payload that the kind does not name, or that have another type."""
    return [
        name
        for name, value in data.items()
        if name not in kind.fields
        or not (value is None or isinstance(value, TYPES[FIELDS[name][0]]))
    ]


def watch() -> None:
    """Let each event that the product makes be compared with the record of its kind."""
    made = moves.NewEvent.__init__

    def checked(
        self: moves.NewEvent,
        kind: EventKind | WorkspaceEventKind,
        data: Mapping[str, Any],
        actor: str,
        v: int = 1,
    ) -> None:
        made(self, kind, data, actor, v)
        maker = sys._getframe(1)
        while maker.f_back and maker.f_globals["__name__"] == "dataclasses":
            maker = maker.f_back
        if maker.f_globals["__name__"].startswith(("tests.", "benchmarks.")):
            return  # some tests write events of their own
        odd = undeclared(kind, data)
        assert not odd, f"{kind} does not declare {', '.join(odd)}: see checkpoints/states.py"

    moves.NewEvent.__init__ = checked  # type: ignore[method-assign]

"""The recorded shapes: one JSON file each, with its public source and the right reading.

`basis` is "recorded" (bytes of the source, shortened), "described" (the source describes them) or
"variation" (our own). A reading has text, finish, tokens and where there are any calls, reasoning
and cached; or `error` (the status, "cut" or "unread"), its words, and whether it is asked again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .replay import Recorded

FOLDER = Path(__file__).with_name("shapes")


@dataclass(frozen=True)
class Shape:
    """One answer of a server."""

    name: str
    server: str
    gateway: str
    wire: str
    source: str
    basis: str
    answer: Recorded
    reading: dict[str, Any]


def shapes() -> list[Shape]:
    """All shapes, by name."""
    return [_shape(path) for path in sorted(FOLDER.glob("*.json"))]


def _shape(path: Path) -> Shape:
    value = json.loads(path.read_text())
    answer = Recorded(
        value["body"].encode(),
        value.get("status", 200),
        value.get("headers", {}),
        is_stream=value["request"] == "stream",
    )
    return Shape(
        path.stem,
        value["server"],
        value.get("gateway", ""),
        value["wire"],
        value["source"],
        value["basis"],
        answer,
        value["reading"],
    )


def servers(chosen: list[Shape]) -> set[str]:
    """The servers and gateways that answered so."""
    return {name for shape in chosen for name in (shape.server, shape.gateway) if name}

"""Bodies of messages to programs and devices: JSON of less than 20 kB; the same at each try."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from checkpoints.state import deltas

from .letters import Letter

BODY_MAX: Final = 20_000
TEXT_MAX: Final = 2_000
PUSH_TEXT_MAX: Final = 400


def body(
    kind: str,
    *,
    at: datetime,
    workspace: UUID,
    thread: UUID | None = None,
    checkpoint: UUID | None = None,
    approval: UUID | None = None,
    url: str = "",
    data: Mapping[str, Any] | None = None,
) -> bytes:
    """`{type, timestamp, data}`; what would be too long is cut and named in `data.cut`."""
    ids = {"thread": thread, "checkpoint": checkpoint, "approval": approval}
    payload: dict[str, Any] = {
        "workspace": str(workspace),
        **{name: None if ident is None else str(ident) for name, ident in ids.items()},
        "url": url,
    }
    cut: list[str] = []
    for name, value in sorted((data or {}).items()):
        if name in payload:
            continue
        if isinstance(value, str) and len(value) > TEXT_MAX:
            value = value[:TEXT_MAX]
            cut.append(name)
        payload[name] = value
    while len(result := _written(kind, at, payload, cut)) >= BODY_MAX:
        names = [name for name in payload if name not in ids and name not in ("workspace", "url")]
        largest = max(names, key=lambda name: len(deltas.canonical(payload[name])))
        del payload[largest]
        cut = sorted({*cut, largest})
    return result


def push_body(letter: Letter, *, url: str, most: int) -> bytes:
    """`{title, body, url}`: what a device shows and the page that a click opens; never too long."""
    lines = [line for line in letter.text.splitlines()[1:] if line.strip()]
    text = "\n".join(lines[:4])[:PUSH_TEXT_MAX]
    payload = {"title": letter.subject, "url": url}
    while len(result := deltas.canonical(payload | {"body": text})) > most:
        text = text[: len(text) // 2]
    return result


def _written(kind: str, at: datetime, payload: Mapping[str, Any], cut: list[str]) -> bytes:
    stamp = at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    data = dict(payload) | ({"cut": cut} if cut else {})
    return deltas.canonical({"type": kind, "timestamp": stamp, "data": data})

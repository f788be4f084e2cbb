"""Messages as servers spell them: read without loss, and written as they came."""

from __future__ import annotations

import json
from typing import Any, Final
from uuid import uuid4

from checkpoints.state import marked, spelled
from checkpoints.state.marked import Raw

from .wire import Message

RESULT: Final = "result"


def decoded(raw: bytes) -> Message | None:
    """The message in these bytes, its result as it was; None where they are none."""
    try:
        text = raw.decode()
        message = spelled.exact(text)
        if isinstance(message, Raw):
            message = {
                name: spelled.exact(value) if name == RESULT else json.loads(value)
                for name, value in spelled.members(text).items()
            }
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def encoded(message: Any) -> bytes:
    """The bytes of a message, with what is `Raw` as it came."""
    raws: dict[str, str] = {}

    def placed(value: Any) -> Any:
        if isinstance(value, Raw):
            marker = uuid4().hex
            raws[marker] = value.text
            return marker
        return marked.mark(value)

    text = json.dumps(message, separators=(",", ":"), ensure_ascii=False, default=placed)
    for marker, raw in raws.items():
        text = text.replace(f'"{marker}"', raw)
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can spell
        return "".join(
            f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char for char in text
        ).encode()

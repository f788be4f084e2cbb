"""Server-sent events of a model's answer, folded into the answer as it would come whole."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import httpx2


class Fold(Protocol):
    """A wire's own way to put the pieces of an answer together.

    `text` is what it says so far, `whole` the answer in the wire's form once `is_complete`.
    """

    text: str
    is_complete: bool

    def add(self, event: Mapping[str, Any]) -> None:
        """Take the next piece; raises ModelFailed for an error that the server sends in between."""

    @property
    def whole(self) -> dict[str, Any]: ...


def events(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The JSON objects of the `data:` lines; other lines say nothing that is needed."""
    for line in lines:
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if not data or data == "[DONE]":
            continue
        try:
            event = json.loads(data)
        except ValueError:
            raise broken_off() from None
        if isinstance(event, dict):
            yield event


def broken_off() -> httpx2.RemoteProtocolError:
    """The error of an answer that came in part; the retry policy knows it."""
    return httpx2.RemoteProtocolError("The model's answer broke off before its end.")

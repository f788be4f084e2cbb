"""Reading request bodies with the one strict decoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.parsers import BaseParser

from checkpoints.errors import InvalidValue
from checkpoints.state.deltas import LIMITS, decode_request
from dashboard.errors import Malformed, TooLarge


class StrictJSONParser(BaseParser):
    """JSON of which nothing is silently changed; refusals name the path (Malformed, 400)."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The decoded body; read no further than one byte past the limit (TooLarge, 413)."""
        raw = stream.read(LIMITS.request_bytes + 1)
        if len(raw) > LIMITS.request_bytes:
            raise TooLarge("$", f"has more than the {LIMITS.request_bytes:,} bytes that are taken")
        try:
            return decode_request(raw)
        except InvalidValue as error:
            raise Malformed(str(error), path=error.path) from error

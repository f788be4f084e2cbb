"""Reading request bodies with the one strict decoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.parsers import BaseParser

from checkpoints.errors import InvalidValue
from checkpoints.state.deltas import LIMITS, decode_request
from checkpoints.state.spelled import decode_with_exact
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
            return self.decoded(raw)
        except InvalidValue as error:
            raise Malformed(str(error), path=error.path) from error

    def decoded(self, raw: bytes) -> Any:
        """Decode a body; raises InvalidValue."""
        return decode_request(raw)


class ResultParser(StrictJSONParser):
    """JSON whose `result` has happened: what cannot be stored as it is comes in its marked form."""

    def decoded(self, raw: bytes) -> Any:
        """Decode a body; raises InvalidValue."""
        return decode_with_exact(raw, "result")

"""Reading request bodies with the one strict decoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.parsers import BaseParser

from checkpoints.errors import InvalidValue
from checkpoints.state.deltas import LIMITS, decode_request
from checkpoints.state.marked import unmark
from checkpoints.state.spelled import decode_with_exact
from dashboard.errors import Malformed, TooLarge
from workers.step.answers import bounded_text


class StrictJSONParser(BaseParser):
    """JSON of which nothing is silently changed; refusals name the path (Malformed, 400)."""

    media_type = "application/json"
    instead = ""  # of a body that is too large

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The decoded body; read no further than one byte past the limit (TooLarge, 413)."""
        raw = stream.read(LIMITS.request_bytes + 1)
        if len(raw) > LIMITS.request_bytes:
            raise TooLarge(
                "$",
                f"has more than the {LIMITS.request_bytes:,} bytes that are taken{self.instead}",
            )
        try:
            return self.decoded(raw)
        except InvalidValue as error:
            raise Malformed(str(error), path=error.path) from error

    def decoded(self, raw: bytes) -> Any:
        """Decode a body; raises InvalidValue."""
        return decode_request(raw)


class ResultParser(StrictJSONParser):
    """JSON about a call that has happened, so that nothing about it is refused.

    Where its `result` and `args` cannot be stored as they are, they come in their marked form; of
    `error` the characters that cannot are escapes, and the end is cut off.
    """

    instead = (
        "; it happened all the same, so send the mark of a large value as its result: "
        '`{"$exact": {"large": {"bytes": ..., "sha256": ..., "start": ..., "file": null}}}`'
    )
    members: tuple[str, ...] = ("result", "args", "error")
    of = ""

    def decoded(self, raw: bytes) -> Any:
        """Decode a body; raises InvalidValue."""
        body = decode_with_exact(raw, self.members, of=self.of)
        if isinstance(body, dict) and isinstance(error := unmark(body.get("error")), str):
            body["error"] = bounded_text(error)
        return body


class RecordsParser(ResultParser):
    """JSON whose `records` have happened."""

    members: tuple[str, ...] = ("result", "args")
    of = "records"

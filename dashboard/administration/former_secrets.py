"""The option of commands that says how long a former secret holds beside the new one."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from dashboard.errors import Invalid
from dashboard.identity import tokens


def keep_option(
    field: str, help_text: str
) -> tuple[Callable[[argparse.ArgumentParser], None], Callable[[dict[str, Any]], dict[str, Any]]]:
    """Declare --keep, and read it as the seconds of a field; a day unless given."""

    def declare(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--keep", default="24h", metavar="24h", help=help_text)

    def seconds(options: dict[str, Any]) -> dict[str, Any]:
        words = options["keep"]
        span = None if words == "0" else tokens.lifetime(words, "--keep")
        if words != "0" and span is None:
            raise Invalid("--keep", "must have an end")
        return {field: int(span.total_seconds()) if span else 0}

    return declare, seconds

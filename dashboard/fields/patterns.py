"""Words for a regular expression of a schema: an example of what it takes, never the expression.

The expression is not parsed; well-known samples are held against it. One that takes only samples
of one kind is named after that kind, anything else is shown by the schema's own example.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from checkpoints.state.json_schemas import expressions

# (kind, sample); of one kind the first that fits is the example.
_SAMPLES = (
    ("a date", "2026-11-30"),
    ("a date and time", "2026-11-30T09:30:00Z"),
    ("a month", "2026-11"),
    ("a time", "09:30"),
    ("an amount", "12.50"),
    ("a number", "12"),
    ("an e-mail address", "ada@example.com"),
    ("a web address", "https://example.com/page"),
    ("an id", "0f8fad5b-d9cb-469f-a165-70867728950e"),
    ("an IBAN", "DE89370400440532013000"),
    ("a currency", "EUR"),
    ("a country", "DE"),
    ("a word in lower case", "winter"),
    ("a word in capitals", "WINTER"),
)
_ONE_KIND = ({"an amount", "a number"},)
EXAMPLES_MAX = 60
UNKNOWN = "has a form that is not allowed"


def described(pattern: str, schema: Mapping[str, Any]) -> str:
    """Suggest what to write instead of a text that does not fit the pattern."""
    if kind := _kind(pattern):
        return f"use {kind[0]} like {kind[1]}"
    for example in (*_examples(schema), schema.get("default")):
        if (
            isinstance(example, str)
            and 0 < len(example) <= EXAMPLES_MAX
            and _fits(pattern, example)
        ):
            return f"use a text like {example}"
    return UNKNOWN


def _examples(schema: Mapping[str, Any]) -> list[Any]:
    examples = schema.get("examples")
    return examples if isinstance(examples, list) else []


@lru_cache(maxsize=256)
def _kind(pattern: str) -> tuple[str, str] | None:
    """The one kind of sample that a pattern takes, with its example; None where it takes others."""
    fitting = [(kind, sample) for kind, sample in _SAMPLES if _fits(pattern, sample)]
    kinds = {kind for kind, _ in fitting}
    if len(kinds) == 1 or any(kinds == family for family in _ONE_KIND):
        return fitting[0]
    return None


def _fits(pattern: str, text: str) -> bool:
    try:
        return expressions.is_match(pattern, text)
    except (re.error, expressions.TooCostly):
        return False

"""Reads between a decision and the next line: prepared once per connection, plain libpq calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .row_texts import Take

type Query = tuple[str, Sequence[Any]]


def both(one: Query | None, other: Query | None) -> Query | None:
    """The condition that two conditions hold; None where there is none."""
    if one is None or other is None:
        return one or other
    return f"({one[0]}) AND ({other[0]})", (*one[1], *other[1])


def fetch(text: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """All rows of a statement whose text is the same at each call; each %s has its cast."""
    (result,) = fetch_all((text, values))
    return result


def fetch_all(*request: Query) -> list[list[tuple[Any, ...]]]:
    """The rows of several such statements, which do not need each other's, in one round trip."""
    # Here: who only imports the engine needs no driver.
    from . import statements

    return statements.fetch(*request)


def stream(request: Query, take: Take) -> None:
    """Hand each row of such a statement to `take` as it arrives; what that raises ends it."""
    from . import streams

    streams.stream(*request, take)

"""Channels by whose values threads are searched for: how they are declared, what is kept; pure.

A thread's row keeps the values of these channels as they are in the state at its head, as one JSON
object that an index knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..errors import InvalidValue
from .values import at, canonical

CHANNELS_MAX: Final = 8
VALUE_BYTES_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class Searchable:
    """Declares a channel that `state.CHANNEL:value` finds threads by, on the board and in the API.

    customer: Annotated[str, Searchable()] = ""
    """


def searchable_of(channels: Mapping[str, Any]) -> tuple[str, ...]:
    """The searchable ones in AgentVersion.channels, in the order of their names.

    A capsule may bring a version of anybody's making: more than CHANNELS_MAX count for nothing.
    """
    named = [c for c, spec in channels.items() if isinstance(spec, Mapping)]
    return tuple(sorted(c for c in named if channels[c].get("searchable") is True)[:CHANNELS_MAX])


def check_values(names: Iterable[str], state: Mapping[str, Any]) -> None:
    """Raise InvalidValue where one of these channels has more than VALUE_BYTES_MAX bytes."""
    for name in names:
        if name in state and (size := len(canonical(state[name]))) > VALUE_BYTES_MAX:
            raise InvalidValue(
                at("$", name),
                f"is searchable and has {size:,} bytes; at most {VALUE_BYTES_MAX:,} can be",
            )


def kept_values(names: Iterable[str], state: Mapping[str, Any]) -> dict[str, Any]:
    """The values of these channels that the row of a thread in this state keeps.

    One that is too large is left out: it was written before its channel was declared so.
    """
    return {
        name: state[name]
        for name in names
        if name in state and len(canonical(state[name])) <= VALUE_BYTES_MAX
    }


def column_of(names: Sequence[str], state: Mapping[str, Any]) -> str | None:
    """The same as JSON, for the row of the thread; None where nothing is declared."""
    return canonical(kept_values(names, state)).decode() if names else None

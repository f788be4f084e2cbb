"""What a graph declares about the durability of its threads: checked, and as it is described."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from checkpoints.durabilities import DURABILITIES, DURABLE, EPHEMERAL, TTL_DEFAULT, TTL_MAX

from .checks import is_number, shown
from .errors import GraphError


def check_durability(durability: Any, ttl: Any) -> None:
    """Refuse an unknown durability, and a `ttl` that is no time or has nothing to hold for."""
    if durability not in DURABILITIES:
        names = ", ".join(DURABILITIES)
        raise GraphError(f"There is no durability {shown(durability)}; there are {names}.")
    if ttl is None:
        return
    if durability != EPHEMERAL:
        raise GraphError(
            f"ttl={shown(ttl)} holds for durability={EPHEMERAL!r} only: what a {durability} agent "
            "keeps has no end."
        )
    seconds = _seconds(ttl)
    if seconds is None or not 1 <= seconds <= TTL_MAX:
        raise GraphError(
            f"ttl={shown(ttl)} must be a timedelta or seconds, from 1 to {TTL_MAX:,} seconds."
        )


def _seconds(ttl: Any) -> float | None:
    if isinstance(ttl, timedelta):
        return ttl.total_seconds()
    return ttl if is_number(ttl) else None


def described_durability(durability: str, ttl: timedelta | float | None) -> dict[str, Any]:
    """The declaration in the form of AgentVersion.graph; nothing of a durable one."""
    if durability == DURABLE:
        return {}
    if durability != EPHEMERAL:
        return {"durability": durability}
    seconds = TTL_DEFAULT if ttl is None else _seconds(ttl)
    return {"durability": durability, "ttl": int(seconds or TTL_DEFAULT)}

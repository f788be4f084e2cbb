"""What a graph declares about the durability of its threads: checked, and as it is described."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from checkpoints.durabilities import (
    ACKNOWLEDGEMENTS,
    BUFFERED,
    DURABILITIES,
    DURABLE,
    EPHEMERAL,
    HOT,
    TTL_DEFAULT,
    TTL_MAX,
)
from checkpoints.state.durable import Durable

from .checks import is_number, shown
from .errors import GraphError


def check_durability(durability: Any, ttl: Any, acknowledge: Any = None) -> None:
    """Refuse an unknown durability, and what it has no use for: `ttl`, `acknowledge`."""
    if durability not in DURABILITIES:
        names = ", ".join(DURABILITIES)
        raise GraphError(f"There is no durability {shown(durability)}; there are {names}.")
    if acknowledge is not None:
        _check_acknowledge(durability, acknowledge)
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


def _check_acknowledge(durability: str, acknowledge: Any) -> None:
    if acknowledge not in ACKNOWLEDGEMENTS:
        names = ", ".join(ACKNOWLEDGEMENTS)
        raise GraphError(f"There is no acknowledge={shown(acknowledge)}; there are {names}.")
    if durability != HOT:
        what = "nothing" if durability == EPHEMERAL else "each step in the database"
        raise GraphError(
            f"acknowledge={shown(acknowledge)} holds for durability={HOT!r} only: a {durability} "
            f"agent acknowledges {what}."
        )


def check_node_durability(node: str, declared: Any, graph: str) -> None:
    """Refuse a durability that a node of a graph with that of `graph` cannot have."""
    if declared is None:
        return
    if declared != DURABLE:
        raise GraphError(
            f"The node {node!r} can be durability={DURABLE!r} only, not {shown(declared)}. To let "
            f"some nodes be hot, declare the graph with durability={HOT!r} and the other nodes "
            f"with durability={DURABLE!r}."
        )
    if graph == EPHEMERAL:
        raise GraphError(f"The node {node!r} can't be durable: its agent keeps nothing.")


def durable_channels(fields: Mapping[str, Any]) -> frozenset[str]:
    """The channels declared as Durable(); `fields` of a Pydantic model."""
    for name, info in fields.items():
        if Durable in info.metadata:
            raise GraphError(f"Channel {name!r}: write Durable(), not Durable.")
    return frozenset(
        name for name, info in fields.items() if any(isinstance(m, Durable) for m in info.metadata)
    )


def _seconds(ttl: Any) -> float | None:
    if isinstance(ttl, timedelta):
        return ttl.total_seconds()
    return ttl if is_number(ttl) else None


def described_durability(
    durability: str, ttl: timedelta | float | None, acknowledge: str | None = None
) -> dict[str, Any]:
    """The declaration in the form of AgentVersion.graph; nothing of a durable one."""
    if durability == DURABLE:
        return {}
    if durability == HOT:
        other = acknowledge not in (None, BUFFERED)
        return {"durability": durability, **({"acknowledge": acknowledge} if other else {})}
    seconds = TTL_DEFAULT if ttl is None else _seconds(ttl)
    return {"durability": durability, "ttl": int(seconds or TTL_DEFAULT)}

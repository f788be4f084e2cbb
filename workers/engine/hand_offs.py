"""The end of a thread that hands over: its successor's first state, made of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas
from checkpoints.state.channels import Digests, reducers_of
from checkpoints.state.encrypted import is_envelope, readers_of
from checkpoints.state.searchable import check_values, column_of, searchable_of
from checkpoints.store import HandOff

from ..node.children import HAND_OFF
from ..step.step import OpenStep


def hand_off_of(step: OpenStep, state: dict[str, Any]) -> HandOff | None:
    """The hand-off of this step's node, with the state after the step; None without one.

    Channels of the same name keep their values, which are not copied; values that were passed
    replace them, and the other agent's defaults fill the rest.
    """
    for row in step.records.values():
        if row.tool == HAND_OFF and row.kind == "value" and row.state == "done":
            result = row.result
            break
    else:
        if not step.handed:
            return None
        result = step.handed[0]
    agent = step.ledger.agent(step.work, result["agent"])
    channels = agent.channels
    own = {c: spec["default"] for c, spec in channels.items() if "default" in spec}
    own |= {c: value for c, value in state.items() if c in channels}
    own |= result["state"]
    deltas.check(own)
    own = _as_stored(step, own, result["agent"], readers_of(channels))
    changed = {c: v for c, v in own.items() if c not in state or state[c] != v}
    gone = sorted(set(state) - set(own))
    delta = {**({"set": changed} if changed else {}), **({"unset": gone} if gone else {})}
    names = searchable_of(channels)
    check_values(names, own)
    return HandOff(
        UUID(result["thread"]),
        agent,
        delta,
        Digests.of(own, reducers_of(channels)),
        column_of(names, own),
    )


def _as_stored(
    step: OpenStep, state: dict[str, Any], agent: str, encrypted: Mapping[str, Any]
) -> dict[str, Any]:
    """The successor's state with all its encrypted channels as ciphertext.

    Raises InvalidValue for a channel that is encrypted here and would be plain there.
    """
    for channel, value in state.items():
        if channel not in encrypted and is_envelope(value):
            raise InvalidValue(
                deltas.at("$", channel),
                f"is encrypted here and not in {agent!r}: declare it so there, or hand over "
                "another value for it",
            )
    plain = [c for c in encrypted if c in state and not is_envelope(state[c])]
    cipher = step.ledger.channel_cipher(step.work) if plain else None
    if cipher is None:
        return state
    return {**state, **{channel: cipher.seal(channel, state[channel]) for channel in plain}}

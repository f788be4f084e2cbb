"""The end of a thread that hands over: its successor's first state, made of its own."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from checkpoints.state import deltas
from checkpoints.state.channels import Digests, reducers_of
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
    changed = {c: v for c, v in own.items() if c not in state or state[c] != v}
    gone = sorted(set(state) - set(own))
    delta = {**({"set": changed} if changed else {}), **({"unset": gone} if gone else {})}
    return HandOff(UUID(result["thread"]), agent, delta, Digests.of(own, reducers_of(channels)))

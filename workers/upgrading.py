"""States of older schemas: led to the form of the installed code when a lease loads them."""

from __future__ import annotations

from typing import Any

from checkpoints import deltas
from checkpoints.channels import Digests
from checkpoints.errors import InvalidValue, NewerThanCode, NoUpgradePath, UpgradeFailed
from checkpoints.records import Work
from checkpoints.store import next_checkpoint

from .errors import Parked
from .graph import Graph
from .ledger import Ledger


def check_way(work: Work, graph: Graph, stored: int) -> None:
    """Park a thread whose state has a schema that this code does not know the way from."""
    try:
        graph.upgrades.plan(stored, graph.schema_version)
    except (NewerThanCode, NoUpgradePath) as error:
        raise _parked(error.message, graph, stored) from error


def upgrade(
    work: Work, graph: Graph, ledger: Ledger, state: dict[str, Any], stored: int
) -> tuple[dict[str, Any], Digests]:
    """Commit the state in the code's own schema; (the state, its digests).

    The checkpoint (source `upgrade`) keeps step and nodes to come, so that what is recorded of an
    unfinished step answers as before and open approvals stay as they are. Raises Parked where a
    step of the way fails or the result does not fit, LeaseLost.
    """
    try:
        made, delta = upgraded(graph, state, stored)
    except UpgradeFailed as error:
        raise _parked(error.message, graph, stored) from error
    except InvalidValue as error:
        text = f"After the upgrade to schema {graph.schema_version} the state does not fit: {error}"
        raise _parked(text, graph, stored) from error
    digests = Digests.of(made, graph.reducers)
    checkpoint = next_checkpoint(
        work,
        source="upgrade",
        delta=delta,
        state_hash=digests.root,
        state_bytes=digests.size,
        schema_version=graph.schema_version,
    )
    ledger.commit(work, checkpoint)
    return made, digests


def upgraded(
    graph: Graph, state: dict[str, Any], stored: int
) -> tuple[dict[str, Any], deltas.Delta]:
    """(the state in the code's own schema, the delta that leads there); writes nothing.

    Raises UpgradeFailed where a step of the way fails, InvalidValue where the result does not fit.
    """
    delta = _delta(state, graph.upgrades.upgrade(state, stored, graph.schema_version))
    made = deltas.apply(state, delta)
    graph.check_loaded(made)
    return made, delta


def _delta(old: dict[str, Any], new: dict[str, Any]) -> deltas.Delta:
    changed = {
        channel: value
        for channel, value in new.items()
        if channel not in old or deltas.canonical(old[channel]) != deltas.canonical(value)
    }
    gone = sorted(set(old) - set(new))
    delta: deltas.Delta = {}
    if changed:
        delta["set"] = changed
    if gone:
        delta["unset"] = gone
    return delta


def _parked(text: str, graph: Graph, stored: int) -> Parked:
    asked = {"kind": "schema", "stored": stored, "code": graph.schema_version}
    return Parked(text, {**asked, "choices": ["pin"]})

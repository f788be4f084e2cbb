"""States of older schemas: led to the form of the installed code when a lease loads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checkpoints.encryption.thread_state import ThreadState
from checkpoints.errors import InvalidValue, NewerThanCode, NoUpgradePath, UpgradeFailed
from checkpoints.records import Work
from checkpoints.state import deltas
from checkpoints.state.channels import Digests
from checkpoints.store import next_checkpoint

from ..authoring.errors import OutsideActivity, Parked
from ..authoring.graph import Graph
from ..authoring.time_limits import within
from ..step.answers import bounded_text
from ..step.guard import guarded
from ..step.ledger import Ledger


def check_way(work: Work, graph: Graph, stored: int) -> None:
    """Park a thread whose state has a schema that this code does not know the way from."""
    try:
        graph.upgrades.plan(stored, graph.schema_version)
    except (NewerThanCode, NoUpgradePath) as error:
        raise _parked(error.message, graph, stored) from error


@dataclass(frozen=True, slots=True)
class Upgraded:
    """A state in the code's own schema, with its digests and the delta that leads there."""

    state: dict[str, Any]
    digests: Digests
    delta: deltas.Delta


def upgrade(
    work: Work, graph: Graph, state: dict[str, Any], stored: int, encrypted: ThreadState
) -> Upgraded:
    """The state in the code's own schema; writes nothing.

    Raises Parked where a step of the way fails, does what may happen only once, or leads to a
    state that does not fit. One that does not come back is past the limit of a step.
    """
    name = f"upgrade to schema {graph.schema_version}"
    plain = encrypted.opened_whole(state)
    try:
        with within(work.token, name, graph.step_seconds), guarded(graph.state):
            result = _led(graph, plain, stored)
        made, delta = _sealed(result, state, encrypted)
        digests = Digests.of(made, graph.reducers)
        deltas.check_size(digests.size, deltas.LIMITS.state_bytes, "the state")
    except OutsideActivity as error:
        # What else it says is advice for nodes.
        what = error.message.partition(" outside of an activity")[0]
        raise _parked(f"The {name} is not pure: {what}.", graph, stored) from error
    except SystemExit as error:
        text = f"The {name} ended the process with sys.exit({error.code!r})."
        raise _parked(bounded_text(text), graph, stored) from error
    except UpgradeFailed as error:
        raise _parked(bounded_text(encrypted.masked(error.message)), graph, stored) from error
    except InvalidValue as error:
        why = bounded_text(encrypted.masked(str(error)))
        text = f"After the {name} the state does not fit: {why}"
        raise _parked(text, graph, stored) from error
    return Upgraded(made, digests, delta)


def commit_upgrade(work: Work, graph: Graph, ledger: Ledger, made: Upgraded) -> None:
    """Commit a state in the code's own schema; raises LeaseLost.

    The checkpoint (source `upgrade`) keeps step and nodes to come, so that what is recorded of an
    unfinished step answers as before and open approvals stay as they are.
    """
    checkpoint = next_checkpoint(
        work,
        source="upgrade",
        delta=made.delta,
        state_hash=made.digests.root,
        state_bytes=made.digests.size,
        schema_version=graph.schema_version,
        digests=made.digests,
    )
    ledger.commit(work, checkpoint)


def try_upgrade(graph: Graph, state: dict[str, Any], stored: int, encrypted: ThreadState) -> None:
    """Lead a state to the code's own schema and drop the result.

    Raises UpgradeFailed where a step of the way fails, InvalidValue where the result does not fit,
    CannotDecrypt.
    """
    encrypted.check_declared(_led(graph, encrypted.opened_whole(state), stored), state)


def _led(graph: Graph, plain: dict[str, Any], stored: int) -> dict[str, Any]:
    """The author's part: plain values in the code's own schema."""
    result = graph.upgrades.upgrade(plain, stored, graph.schema_version)
    graph.check_loaded(result)
    return result


def _sealed(
    plain: dict[str, Any], state: dict[str, Any], encrypted: ThreadState
) -> tuple[dict[str, Any], deltas.Delta]:
    encrypted.check_declared(plain, state)
    delta = _delta(state, encrypted.sealed(plain, state))
    return deltas.apply(state, delta), delta


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
    query = {"kind": "schema", "stored": stored, "code": graph.schema_version}
    return Parked(text[:2000], {**query, "choices": ["pin"]})

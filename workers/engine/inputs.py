"""What people send into a living thread joins its state here, between two steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from checkpoints.encryption.thread_state import ThreadState
from checkpoints.errors import InvalidValue
from checkpoints.records import Work
from checkpoints.state import deltas
from checkpoints.state.channels import Digests, build_delta
from checkpoints.states import EventKind
from checkpoints.store import NewEvent, next_checkpoint

from ..authoring.errors import OutsideActivity
from ..authoring.graph import Graph
from ..step.answers import bounded_text
from ..step.guard import guarded
from ..step.ledger import Ledger


def take_input(
    work: Work,
    graph: Graph,
    ledger: Ledger,
    folder: deltas.Folder,
    digests: Digests,
    encrypted: ThreadState,
) -> bool:
    """Commit one checkpoint with the messages that wait; False when none did.

    It keeps the step and the nodes to come, so positions stay what they are. A message that the
    agent's own schema refuses is settled as well, with an event that says why: it stops nobody.
    Raises LeaseLost; state and digests are then ahead of the head.
    """
    waiting = ledger.inputs(work)
    if not waiting:
        return False
    plain = encrypted.opened(folder.state)
    items: list[Any] = []
    taken: list[int] = []
    senders: set[str] = set()
    refused: list[NewEvent] = []
    for value in waiting:
        try:
            items.append(_fitting(graph, plain, digests.size, items, value.message))
        except InvalidValue as error:
            reason = bounded_text(encrypted.masked(error.reason))
            why = {"input": value.seq, "path": error.path, "why": reason}
            refused.append(NewEvent(EventKind.UPDATE_REJECTED, why, work.owner))
        else:
            taken.append(value.seq)
            senders.add(value.actor)
    settled = [value.seq for value in waiting]
    if not items:
        ledger.events(work, refused, taken=settled)
        return True
    delta = _delta(graph, folder.state, items)
    folder.add(delta)
    checkpoint = next_checkpoint(
        work,
        source="input",
        delta=delta,
        state_hash=digests.update(delta, folder.state),
        state_bytes=digests.size,
        schema_version=graph.schema_version,
        digests=digests,
        created_by=senders.pop() if len(senders) == 1 else work.owner,
    )
    joined = {"inputs": taken, "channel": graph.message_channel}
    ledger.commit(
        work,
        checkpoint,
        before=[*refused, NewEvent(EventKind.INPUT_TAKEN, joined, work.owner)],
        taken=settled,
    )
    return True


def _fitting(
    graph: Graph, state: dict[str, Any], size: int, before: Sequence[Any], message: Any
) -> Any:
    """The message as an item behind `before`; InvalidValue when the state cannot hold it."""
    try:
        with guarded(graph.state):
            item = graph.checked_message(message)
            grown = size + sum(len(deltas.canonical(x)) + 1 for x in (*before, item))
            deltas.check_size(grown, deltas.LIMITS.state_bytes, "the state")
            graph.check_state(deltas.apply(state, _delta(graph, state, [*before, item])))
    except OutsideActivity as error:
        raise InvalidValue("$", error.message) from error
    return item


def _delta(graph: Graph, state: dict[str, Any], items: list[Any]) -> deltas.Delta:
    return build_delta(state, [("input", {graph.message_channel: items})], graph.reducers)

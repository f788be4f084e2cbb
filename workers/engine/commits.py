"""Commit a step: merge the updates, choose the next nodes, send one statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas
from checkpoints.state.channels import Digests, build_delta
from checkpoints.state.searchable import check_values
from checkpoints.states import EventKind
from checkpoints.store import HandOff, NewEvent, next_checkpoint

from ..authoring.graph import END, Graph, Node
from ..step.advice import EVENT_BYTES, reason_of, storable
from ..step.guard import guarded
from ..step.ledger import Ledger
from ..step.step import OpenStep
from .hand_offs import hand_off_of
from .node_outcomes import Done
from .step_outcomes import fail, rejected


def commit(
    graph: Graph,
    ledger: Ledger,
    step: OpenStep,
    folder: deltas.Folder,
    digests: Digests,
    done: Sequence[Done],
) -> bool:
    """Commit a finished step; False when it failed.

    1. Merge the updates into the state, validate it, and choose what comes next.
    2. Update the digests and check the size of the state.
    3. Make the checkpoint that follows the head.
    4. Commit it: the thread continues, hands off, or succeeds.

    State and digests grow in place, at the cost of what the step adds. After a failure they
    are ahead of the head: the caller stops and forgets them.
    """
    work = step.work
    merged = _merge(graph, ledger, step, folder, done)
    if merged is None:
        return False
    root, size = digests.update(merged.delta, folder.state), digests.size
    if _fail_if_too_large(ledger, step, done[0].node, merged.delta, size):
        return False
    checkpoint = next_checkpoint(
        work,
        source="step",
        delta=merged.delta,
        state_hash=root,
        state_bytes=size,
        schema_version=graph.schema_version,
        step=step.number,
        nodes=[d.node.name for d in done],
        next_nodes=merged.following if merged.hand_off is None else [],
        digests=digests,
    )
    work.title = step.title
    before, events, hand_off = step.take_events(), merged.ways, merged.hand_off
    if hand_off is not None:
        ledger.hand_off(work, checkpoint, hand_off, before=before, events=events)
        return True
    leave_by = None if merged.following else EventKind.THREAD_SUCCEEDED
    ledger.commit(work, checkpoint, before=before, events=events, leave_by=leave_by)
    return True


class _Merged(NamedTuple):
    """The delta of a step, the nodes that follow, why they do, and whom the thread is handed to."""

    delta: deltas.Delta
    following: list[str]
    ways: list[NewEvent]
    hand_off: HandOff | None


def _merge(
    graph: Graph, ledger: Ledger, step: OpenStep, folder: deltas.Folder, done: Sequence[Done]
) -> _Merged | None:
    """Merge the updates of a step into the state; None when the step failed because of them."""
    first = done[0].node
    try:
        # Reducers, validators and edges are the author's code too.
        with guarded(graph.state):
            updates = [(d.node.name, d.update) for d in done]
            delta = build_delta(folder.state, updates, graph.reducers)
            folder.add(delta, built=True)
            plain = step.encrypted.opened(folder.state)
            graph.check_state(plain)
            check_values(graph.searchable, delta.get("set", {}))
            following, ways = _ways(graph, step, plain, done)
        return _Merged(delta, following, ways, hand_off_of(step, folder.state))
    except InvalidValue as error:
        rejected(step, first, error)
        fail(ledger, step, first, f"The updates do not fit together: {error}")
    except Exception as error:
        fail(ledger, step, first, reason_of(error, first.call))
    return None


def _fail_if_too_large(
    ledger: Ledger, step: OpenStep, node: Node, delta: deltas.Delta, size: int
) -> bool:
    """Fail a step whose state is beyond the limit; False where it is not."""
    try:
        deltas.check_size(size, deltas.LIMITS.state_bytes, "the state")
    except InvalidValue as beyond:
        error = InvalidValue(_largest(delta), beyond.reason)
        rejected(step, node, error)
        fail(ledger, step, node, f"{error}. Keep what is large with ctx.artifact.")
        return True
    return False


def _ways(
    graph: Graph, step: OpenStep, state: dict[str, Any], done: Sequence[Done]
) -> tuple[list[str], list[NewEvent]]:
    # Joins that wait for branches under way come next as well.
    chosen = set(step.work.next_nodes) - {d.node.name for d in done}
    events = []
    for node in [d.node for d in done]:
        view = graph.view(state) if callable(node.then) else None
        names, because = node.next_nodes(view)
        chosen.update([n for n in names if n != END])
        if because is not None:
            if because:
                storable(because, f"Why {node.name!r} goes this way", at_most=EVENT_BYTES)
                step.refuse_secrets(because, f"Why {node.name!r} goes this way")
            events.append(
                NewEvent(
                    EventKind.WAY_TAKEN,
                    {"from": node.name, "to": list(names), "because": because},
                    step.work.owner,
                )
            )
    return [n for n in graph.nodes if n in chosen], events


def _largest(delta: deltas.Delta) -> str:
    """The path of the channel to which a delta adds most."""
    bodies = (delta.get("set", {}), delta.get("append", {}), delta.get("merge", {}))
    sizes = {c: len(deltas.canonical(value)) for body in bodies for c, value in body.items()}
    return deltas.at("$", max(sizes, key=lambda channel: sizes[channel], default=""))

"""Work the ready nodes of a step and collect how each of them ended: done, failed or stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import structlog
from structlog.contextvars import bind_contextvars, reset_contextvars
from uuid_utils.compat import uuid7

from checkpoints.errors import InvalidValue, LeaseLost
from checkpoints.records import NewActivity, Position
from checkpoints.store import NewEvent

from ..authoring.errors import (
    Asleep,
    ChildrenAwaited,
    Expired,
    GateReached,
    Halted,
    HandBack,
    Parked,
    SignalAwaited,
)
from ..authoring.graph import Graph, Node
from ..authoring.time_limits import saved, within
from ..node.context import Context
from ..node.node_gates import check_node
from ..step.advice import reason_of
from ..step.guard import freed, guarded
from ..step.ledger import Ledger
from ..step.outages import Unrecorded
from ..step.step import OpenStep
from .node_threads import NodeThreads

log = structlog.get_logger("gatepost.engine")
# Short nodes end together and are committed together; none of them needs a record of its own.
SAVE_AFTER_SECONDS: Final = 0.02


@dataclass(slots=True)  # not frozen: each step makes one, which would take six times as long
class Done:
    """The validated update of a node; `is_saved` where no record of it has to be written."""

    node: Node
    update: dict[str, Any]
    is_saved: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """A node that raised; `refused` is what the schema of the state refuses of its update."""

    node: Node
    reason: str
    refused: InvalidValue | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    """A node that was left before its end, to be worked again; the thread leaves its worker."""

    stop: GateReached | ChildrenAwaited | SignalAwaited | Asleep | Halted | HandBack | Parked


WAYS_TO_LEAVE: Final = (
    *(GateReached, ChildrenAwaited, SignalAwaited, Asleep),
    *(Halted, HandBack, Parked),
)
type NodeOutcome = Done | Failed | Stopped


def ends_step(outcome: NodeOutcome) -> bool:
    """Answer True if it ends the step; siblings of a waiting node are still worked."""
    if isinstance(outcome, Stopped):
        waits = GateReached | ChildrenAwaited | SignalAwaited | Asleep
        return not isinstance(outcome.stop, waits)
    return isinstance(outcome, Failed)


def work_nodes(
    graph: Graph, step: OpenStep, state: dict[str, Any], *, at_once: int
) -> list[NodeOutcome]:
    """The outcomes of the ready nodes in the order of the graph, `at_once` of them at a time.

    One that ends the step leaves out those that have not begun. Raises what no node may answer
    for: a lost lease, a database that is away, no memory.
    """
    missing = set(step.work.next_nodes) - set(graph.nodes)
    if missing:
        names = ", ".join(sorted(missing))
        return [Stopped(Parked(f"The installed code has no node named {names!r}."))]
    ready = graph.joins.ready(step.work.next_nodes)
    nodes = [node for node in graph.nodes.values() if node.name in ready]
    outcomes: dict[str, NodeOutcome] = {}
    for node in nodes if step.records else ():
        record = step.record_at(_position(step, node))
        if record is not None and record.state == "done":
            outcomes[node.name] = Done(node, record.result, is_saved=True)
    open_nodes = [node for node in nodes if node.name not in outcomes]
    if len(open_nodes) > 1 and at_once > 1:
        _work_together(graph, step, open_nodes, state, outcomes, at_once)
    else:
        _work_in_turn(graph, step, open_nodes, state, outcomes)
    return [outcomes[node.name] for node in nodes if node.name in outcomes]


def _work_in_turn(
    graph: Graph,
    step: OpenStep,
    nodes: Sequence[Node],
    state: dict[str, Any],
    outcomes: dict[str, NodeOutcome],
) -> None:
    """Add the nodes' outcomes, up to one that ends the step."""
    for node in nodes:
        outcome = outcomes[node.name] = _work_node(graph, step, node, state)
        if ends_step(outcome):
            return


def _work_together(
    graph: Graph,
    step: OpenStep,
    nodes: Sequence[Node],
    state: dict[str, Any],
    outcomes: dict[str, NodeOutcome],
    at_once: int,
) -> None:
    """Add the outcomes of nodes that work at the same time, each in a thread of its own.

    Each has its own buffer of events, so none writes what another one has not finished; what is
    left in the buffers comes in the order of the graph. A node that ends long before the others is
    saved immediately, so that a killed worker does not repeat it.
    """

    def save_finished() -> None:
        for node in nodes:
            outcome = outcomes.get(node.name)
            if isinstance(outcome, Done) and not outcome.is_saved:
                save_update(step.ledger, step, outcome, steps[node.name].take_events())
                outcomes[node.name] = replace(outcome, is_saved=True)
                saved(step.work.token, node.name)

    def work(node: Node) -> None:
        try:
            outcome = _work_node(graph, steps[node.name], node, state, until_saved=True)
            outcomes[node.name] = outcome
            if ends_step(outcome):
                threads.start_no_more()
        except BaseException as error:
            errors[node.name] = error
            threads.start_no_more()

    threads = NodeThreads(at_once, pause=SAVE_AFTER_SECONDS, on_pause=save_finished)
    ledger = freed(threads.ledger(step.ledger))
    steps = {n.name: replace(step, ledger=ledger, thoughts={}, buffer=[]) for n in nodes}
    errors: dict[str, BaseException] = {}
    try:
        threads.run([partial(work, node) for node in nodes])
    except Unrecorded as stop:
        raise stop.error from None
    finally:
        for node in nodes:
            saved(step.work.token, node.name)
    for node in nodes:
        if node.name in errors:
            raise errors[node.name]
    for node in nodes:
        step.buffer.extend(steps[node.name].take_events())


def _position(step: OpenStep, node: Node) -> Position:
    return Position(step.work.branch, step.number, node.name, 0, "node")


def save_update(ledger: Ledger, step: OpenStep, done: Done, events: Sequence[NewEvent]) -> None:
    """Record the update of a finished node of an unfinished step; it is not worked again."""
    activity = NewActivity(
        id=uuid7(),
        position=_position(step, done.node),
        kind="node",
        tool=done.node.name,
        args={},
        idempotency_key="",
    )
    ledger.record(step.work, activity, result=done.update, events=events)


def _work_node(
    graph: Graph,
    step: OpenStep,
    node: Node,
    state: dict[str, Any],
    *,
    until_saved: bool = False,
) -> NodeOutcome:
    try:
        return Done(node, _call(graph, step, node, state, until_saved=until_saved))
    except WAYS_TO_LEAVE as stop:
        return Stopped(stop)
    except Unrecorded as stop:
        raise stop.error from None
    except (LeaseLost, MemoryError):
        raise
    except InvalidValue as error:
        reason = f"returned what the schema of the state refuses: {error}"
        return Failed(node, step.masked(reason), refused=error)
    except Exception as error:
        if isinstance(error, Expired) and node.on_expired:
            return Done(node.late, {}, is_saved=True)
        # A traceback quotes values; those of encrypted channels are not for logs.
        traced = not step.encrypted.channels
        log.info("step.failed", thread=str(step.work.thread), node=node.name, exc_info=traced)
        return Failed(node, step.masked(reason_of(error, node.call)))


def _call(
    graph: Graph, step: OpenStep, node: Node, state: dict[str, Any], *, until_saved: bool
) -> dict[str, Any]:
    """Call the author's function under its time limit and guard; its update, checked, sealed."""
    # Not bound_contextvars: it copies the whole context, for each node.
    tokens = bind_contextvars(step=step.number, node=node.name)
    try:
        check_node(step, node.name)
        limit = node.time_limit or graph.step_seconds
        plain = step.encrypted.opened(state)
        watched = within(step.work.token, node.name, limit, until_saved=until_saved)
        with watched, guarded(node.call):
            update = node.call(graph.view(plain), Context(step, node.name))
            step.stops.check_end(node.name)
            step.encrypted.remember(update)
            step.refuse_secrets(update, "The update")
            checked = graph.checked_update(update, node.name)
        return step.encrypted.sealed(checked, state)
    finally:
        reset_contextvars(**tokens)

"""Checkpoints of an agent that works elsewhere: a delta or a whole state, after any of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid5

from django.db import IntegrityError
from uuid_utils.compat import uuid7

from checkpoints import queries, store
from checkpoints.errors import NotFound
from checkpoints.records import Work
from checkpoints.state import deltas
from checkpoints.state.channels import Digests
from checkpoints.state.digests import NeedsState
from checkpoints.state.references import PUT
from checkpoints.states import EventKind
from checkpoints.store import NewCheckpoint, NewEvent, next_checkpoint, rollback_checkpoint
from checkpoints.views import CheckpointRow

from ..engine.between_steps import obey_wish
from .open_step import ReportedLedger
from .reported import stop_before

# A state is kept whole after this many checkpoints: a reader folds no more than these.
KEPT_EVERY = 128


class PositionTaken(Exception):
    """Something else is committed under this id."""


@dataclass(frozen=True, slots=True)
class Report:
    """A checkpoint as the agent reports it; `delta` changes the state at its parent."""

    id: UUID | None
    step: int | None
    nodes: Sequence[str]
    next_nodes: Sequence[str]
    delta: Mapping[str, Any]
    taken: Sequence[int] = ()
    thoughts: Sequence[Mapping[str, Any]] = ()


def id_of(work: Work, report: Report) -> UUID | None:
    """The id that the checkpoint gets: the agent's own, else one of its branch and step."""
    if report.id is not None or report.step is None:
        return report.id
    return uuid5(work.thread, f"{work.branch}/{report.step}")


def committed(
    thread: UUID,
    ident: UUID | None,
    report: Report,
    rows: Sequence[tuple[Any, ...]] | None = None,
) -> CheckpointRow | None:
    """The checkpoint with this id, if committed already; raises PositionTaken if it differs.

    `rows` are the answer to `past.checkpoint_query` where somebody has it.
    """
    if ident is None:
        return None
    try:
        row = queries.checkpoint(thread, ident, rows)
    except NotFound:
        return None
    same = (list(row.nodes), list(row.next_nodes)) == (list(report.nodes), list(report.next_nodes))
    # A value that is kept beside its delta is not compared: the hash of the state names it.
    if not same or (PUT not in row.delta and not _same(_filled(row.delta), _filled(report.delta))):
        raise PositionTaken
    return row


def _same(one: Any, other: Any) -> bool:
    return bool(deltas.canonical(one) == deltas.canonical(other))


def _filled(delta: Mapping[str, Any]) -> dict[str, Any]:
    """A delta without operations that name no channel."""
    return {op: body for op, body in delta.items() if body}


def parent_of(thread: UUID, ident: UUID) -> UUID | None:
    """The parent of a committed checkpoint; None while there is none of this id."""
    try:
        return queries.checkpoint(thread, ident).parent
    except NotFound:
        return None


def with_delta(report: Report, delta: Mapping[str, Any]) -> Report:
    """The report with another delta."""
    return replace(report, delta=delta)


def whole(
    old: Mapping[str, Any], new: Mapping[str, Any], appended: Sequence[str]
) -> dict[str, Any]:
    """The delta from one state to another; channels in `appended` that only grew are appended."""
    delta: dict[str, Any] = {"set": {}, "append": {}, "unset": sorted(old.keys() - new.keys())}
    for channel, value in new.items():
        before = old.get(channel)
        if channel in old and _same(before, value):
            continue
        if channel in appended and _has_grown(before, value):
            delta["append"][channel] = value[len(before or ()) :]
        else:
            delta["set"][channel] = value
    return _filled(delta)


def _has_grown(before: Any, value: Any) -> bool:
    """Answer True if a list has only got more items."""
    if not isinstance(before, list) or not isinstance(value, list):
        return False
    return len(value) > len(before) and _same(value[: len(before)], before)


def go_back(work: Work, target: CheckpointRow) -> None:
    """Set the head back to a checkpoint of the thread, on a new branch; nothing is undone."""
    store.commit_step(work, rollback_checkpoint(work, target))


def commit(
    work: Work, ident: UUID | None, report: Report, *, seen: int | None = None
) -> NewCheckpoint:
    """Commit the step in progress as reported; `stop_where_due` comes after it.

    `seen` is the number of the thread's newest event that the caller knows of. Raises LeaseLost
    (also where there is a newer event than `seen`), InvalidValue, PositionTaken.
    """
    delta = deltas.validate_delta(_filled(report.delta))
    digests = _digests(work, delta)
    checkpoint = next_checkpoint(
        work,
        source="step",
        delta=delta,
        state_hash=digests.root,
        state_bytes=digests.size,
        schema_version=1,
        id=ident or uuid7(),
        step=work.step + 1,
        nodes=list(report.nodes),
        next_nodes=list(report.next_nodes),
        digests=digests,
    )
    before = thoughts_of(work, report.thoughts)
    if report.taken:
        joined = {"inputs": list(report.taken)}
        before.append(NewEvent(EventKind.INPUT_TAKEN, joined, work.owner))
    try:
        store.commit_step(work, checkpoint, before=before, taken=report.taken, seen=seen)
    except IntegrityError as error:
        raise PositionTaken from error
    store.remember_digests(work.thread, checkpoint.id, digests)
    if checkpoint.number % KEPT_EVERY == 0:
        store.keep_state(work.thread, checkpoint.id, checkpoint.number)
    return checkpoint


def stop_where_due(work: Work) -> None:
    """Leave the thread after a step where people, a breaker or a policy want it."""
    ledger = ReportedLedger()
    if not obey_wish(work, tuple, ledger) and ledger.asks_before_nodes(work):
        stop_before(work, work.next_nodes)


def _digests(work: Work, delta: Mapping[str, Any]) -> Digests:
    """The digests of the state after the delta; the state is read only where they need it."""
    digests = store.known_digests(work.thread, work.head)
    try:
        digests.follow(delta)
    except NeedsState:
        digests = store.known_digests(work.thread, work.head)
    else:
        return digests
    folder = deltas.Folder(queries.state_at(work.thread, work.head))
    folder.add(delta)
    digests.update(delta, folder.state)
    return digests


def thoughts_of(work: Work, thoughts: Sequence[Mapping[str, Any]]) -> list[NewEvent]:
    """The thoughts of the step in progress that are not on record yet, as events."""
    if not thoughts:
        return []
    step = work.step + 1
    known = queries.recorded_thoughts(work.thread, branch=work.branch, step=step)
    events: list[NewEvent] = []
    for thought in thoughts:
        node, ordinal = thought["node"], thought["n"]
        if ordinal is None:
            ordinal = max((n for name, n in known if name == node), default=-1) + 1
        if (node, ordinal) in known:
            continue
        known.add((node, ordinal))
        data = {
            "node": node,
            "ordinal": ordinal,
            "branch": work.branch,
            "step": step,
            "text": thought["text"],
        }
        events.append(NewEvent(EventKind.THOUGHT_RECORDED, data, work.owner))
    return events

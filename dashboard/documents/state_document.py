"""The whole state at a checkpoint as one document, for API, commands and capsules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from checkpoints import queries
from checkpoints.state.encrypted import is_envelope, readers_of
from checkpoints.states import PLAIN
from checkpoints.views import CheckpointRow, StepTakenRow, ThreadRow

from .state_shape import State

# Checkpoints before the shown one that come with its state.
HISTORY = 20
# Marks a channel that holds a summary of another one, in the schema of an agent's state.
SUMMARY_OF = "x-summary-of"


def state_answer(row: ThreadRow, point: CheckpointRow) -> State:
    """The whole state at a checkpoint of a thread."""
    state = queries.state_at(row.id, point.id)
    steps, n_steps = queries.steps_before(row.id, point.id, limit=HISTORY)
    context = {
        "checkpoint": str(point.id),
        "number": point.number,
        "branch": point.branch,
        "head": point.id == row.head,
        "next_nodes": list(point.next_nodes),
        "state_hash": point.state_hash,
        "schema_version": point.schema_version,
        "config": queries.config_of(row.id),
        "history": [_step(one) for one in steps],
        "n_earlier": n_steps - len(steps),
        **_encrypted(point, state),
        **_summaries(point, state),
    }
    files = list({ref["$artifact"]: ref for ref in files_in(state)}.values())
    return document(row, state, context, step=point.step, at=point.created_at, files=files)


def document(
    row: ThreadRow,
    state: dict[str, Any],
    context: Mapping[str, Any],
    *,
    step: int,
    at: datetime,
    files: Sequence[dict[str, Any]] = (),
) -> State:
    """A state of a thread as a document; `context` is added to what is said of the thread."""
    return State(
        name=row.name,
        session_id=row.name,
        version=row.version,
        step=step,
        status=PLAIN[row.status],
        thread_status=str(row.status),
        created_at=row.created_at,
        updated_at=at,
        context={
            "thread": str(row.id),
            "title": row.title,
            "agent": row.agent,
            "agent_version": row.version_label,
            "labels": row.labels,
            **context,
        },
        artifacts=list(files),
        state=state,
    )


def _encrypted(point: CheckpointRow, state: Mapping[str, Any]) -> dict[str, Any]:
    """`encrypted`: the roles that may read each channel that is ciphertext; else nothing."""
    sealed = [name for name, value in state.items() if is_envelope(value)]
    if not sealed:
        return {}  # no statement for agents that have none
    readers = readers_of(queries.agent_version(point.agent_version_id).channels)
    results = {name: list(readers[name]) for name in sealed if name in readers}
    return {"encrypted": results} if results else {}


def _summaries(point: CheckpointRow, state: Mapping[str, Any]) -> dict[str, Any]:
    """`summaries`: what stands for the older part of a channel, and says of which; else nothing."""
    texts = {name: value for name, value in state.items() if isinstance(value, dict)}
    texts = {name: value for name, value in texts.items() if isinstance(value.get("text"), str)}
    if not texts:
        return {}  # no statement for agents that have none
    channels = queries.agent_version(point.agent_version_id).schema.get("properties", {})
    results = [
        {"channel": name, "of": channels[name][SUMMARY_OF], **value}
        for name, value in texts.items()
        if SUMMARY_OF in channels.get(name, ())
    ]
    return {"summaries": results} if results else {}


def _step(one: StepTakenRow) -> dict[str, Any]:
    return {
        "number": one.number,
        "step": one.step,
        "source": one.source,
        "nodes": list(one.nodes),
        "next_nodes": list(one.next_nodes),
        "at": one.at,
        "thread": str(one.thread),
    }


def files_in(value: Any) -> Iterator[dict[str, Any]]:
    """Every reference to a file inside a value."""
    if isinstance(value, list):
        for item in value:
            yield from files_in(item)
    elif isinstance(value, dict):
        if isinstance(value.get("$artifact"), str):
            yield value
        for item in value.values():
            yield from files_in(item)

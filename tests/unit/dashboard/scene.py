"""Threads in the states that the entry points meet, made without an engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from uuid_utils.compat import uuid7

from approvals import gates, queries
from approvals.rules.headlines import headline
from checkpoints import leases, store
from checkpoints.queries import agent_version, state_at
from checkpoints.records import NewActivity, Position, Work
from checkpoints.state.channels import Digests, reducers_of
from checkpoints.states import EventKind
from checkpoints.store import NewCheckpoint
from checkpoints.verdicts import about_args, about_unknown
from gatepost_agents.published.folder import publish
from tests.unit.checkpoints.builders import rows

SCHEMA: dict[str, Any] = {
    "title": "Research",
    "type": "object",
    "properties": {
        "goal": {"type": "string", "minLength": 3},
        "limit": {"anyOf": [{"type": "integer", "maximum": 100}, {"type": "null"}]},
        "findings": {"type": "array", "items": {"type": "string"}},
        "file": {"anyOf": [{"type": "object"}, {"type": "null"}]},
        "report": {"type": "string"},
    },
    "required": ["goal"],
    "additionalProperties": False,
}
CHANNELS: dict[str, Any] = {
    "goal": {"reducer": "last_value"},
    "limit": {"reducer": "last_value", "default": None},
    "findings": {"reducer": "append", "default": []},
    "file": {"reducer": "last_value", "default": None},
    "report": {"reducer": "last_value", "default": ""},
}
GRAPH: dict[str, Any] = {
    "entry": ["analyse"],
    "nodes": [
        {"name": "analyse", "then": ["publish"], "label": "Analyse"},
        {"name": "publish", "then": [], "label": "Publish"},
    ],
}
TOOLS: dict[str, Any] = {"publish": {"effect": True, "idempotent": True, "undo": "unpublish"}}


def make_agent(
    agent: str = "research", version: int = 1, *, inbox: str = "", queue: str = "gatepost"
) -> UUID:
    """An announced agent version without a worker; with an inbox if one is named."""
    return store.announce_version(
        agent=agent,
        version=version,
        fingerprint=f"{version:064x}",
        label="Research",
        description="Reads and reports",
        schema_version=1,
        schema=SCHEMA,
        channels=CHANNELS,
        graph=GRAPH | ({"inbox": inbox} if inbox else {}),
        tools=TOOLS,
        queue=queue,
    )


def alive(*versions: UUID, name: str = "worker:1:boot") -> str:
    """A worker that has just given a sign of life."""
    store.announce_worker(
        name, host="here", pid=1, slots=2, queues=["gatepost"], agents=list(versions)
    )
    return name


def start(workspace: UUID, agent: UUID, *, by: str = "user:1", **values: Any) -> UUID:
    """A queued thread."""
    return store.start(
        agent, input={"goal": "delays", **values}, workspace=workspace, actor=by, title="Delays"
    )


def lease(thread: UUID) -> Work:
    """A worker takes the thread."""
    work = leases.acquire(thread, owner="worker:1:boot")
    assert work is not None
    return work


def step(
    work: Work,
    *,
    leave_by: EventKind | None = None,
    nodes: tuple[str, ...] = ("analyse",),
    next_nodes: tuple[str, ...] = ("publish",),
    **values: Any,
) -> UUID:
    """The worker commits one step that sets channels; the checkpoint."""
    state = {**state_at(work.thread, work.head), **values}
    reducers = reducers_of(agent_version(work.agent_version).channels)
    digests = Digests.of(state, reducers)
    checkpoint = NewCheckpoint(
        id=uuid4(),
        number=work.number + 1,
        step=work.step + 1,
        branch=work.branch,
        branch_start=work.branch_start,
        parent=work.head,
        parent_thread=work.thread,
        parent_number=work.number,
        source="step",
        nodes=nodes,
        next_nodes=next_nodes,
        delta={"set": values} if values else {},
        state_hash=digests.root,
        state_bytes=digests.size,
        schema_version=1,
        agent_version=work.agent_version,
        created_by=work.owner,
        digests=digests,
    )
    store.commit_step(work, checkpoint, leave_by=leave_by)
    return checkpoint.id


def effect(
    work: Work,
    *,
    done: bool = True,
    undo: str = "unpublish",
    key: str = "publish:0",
    args: Any = None,
    result: Any = None,
    sentence: str = "",
    approval: UUID | None = None,
) -> UUID:
    """An effect of the step in progress."""
    made = NewActivity(
        id=uuid7(),  # as workers make it: caps per day read the time in it
        position=Position(work.branch, work.step + 1, "publish", 0, key),
        kind="effect",
        tool="publish",
        args={"report": "r"} if args is None else args,
        idempotency_key=uuid4().hex,
        undo=undo,
        approval=approval,
        usage={"sentence": sentence} if sentence else None,
    )
    store.start_activity(work, made)
    if done:
        usage = {"tokens": 12, "cost": "0.25"} | ({"sentence": sentence} if sentence else {})
        store.finish_activity(work, made, state="done", result=result or {"path": "p"}, usage=usage)
    return made.id


def report(folder: Path, effect: UUID, files: Mapping[str, str]) -> None:
    """Write a report as the effect published it."""
    key = rows("SELECT idempotency_key FROM gp_activity WHERE id = %s", (effect,))[0][0]
    publish(folder.parent, folder.name, {k: v.encode() for k, v in files.items()}, key=key)


def asking(
    workspace: UUID,
    agent: UUID,
    *,
    changed: bool = False,
    undo: str = "unpublish",
    sentence: str = "",
) -> tuple[UUID, UUID]:
    """A thread that asks about an effect: whether it happened, or what other arguments change.

    (the thread, the effect).
    """
    work = lease(start(workspace, agent))
    step(work, report="draft")
    made = effect(work, done=changed, undo=undo, sentence=sentence)
    if not changed:
        store.note_unknown(work, made)
    store.leave(
        work,
        EventKind.THREAD_PARKED,
        reason="Check outside, then say what holds.",
        waiting_on=about_args(made, {"report": "other"}, once=False)
        if changed
        else about_unknown(made),
    )
    return work.thread, made


def gate(work: Work, **more: Any) -> queries.ApprovalRow:
    """The thread stops at a gate; the open request."""
    values: dict[str, Any] = {
        "position": Position(work.branch, work.step + 1, "publish", 0, "publish:0"),
        "kind": "gate",
        "tool": "publish",
        "args": {"report": "r"},
        "title": "Publish this report?",
        "undo": "unpublish",
        **more,
    }
    titles = [headline(values["title"], values.get("sentence", ""))]
    assert gates.request(work, [gates.Proposal(**values)], waiting_on={"titles": titles})
    return queries.for_thread(work.thread, open_only=True)[0]


def waiting(workspace: UUID, agent: UUID, **more: Any) -> queries.ApprovalRow:
    """A thread that made one step and waits at a gate; its request."""
    work = lease(start(workspace, agent))
    step(work, report="draft")
    return gate(work, **more)

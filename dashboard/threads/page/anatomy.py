"""The anatomy of a checkpoint as one document, for page, API and capsule: what is on record there.

Four layers: the mission (goal, steps, reasoning), the tools (results, cursors, files), the model
and the environment. For every agent and every checkpoint, also of the past and of forks; the parts
come from `checkpoints.queries.anatomy`, bounded as there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import islice
from typing import Any

from checkpoints import queries
from checkpoints.memories import refs_in
from checkpoints.queries.anatomy.around import CALLS, THOUGHTS
from checkpoints.queries.anatomy.rows import CallRow
from checkpoints.views import AgentRow, CheckpointRow, ThreadRow
from dashboard.documents.state_document import HISTORY, files_in
from dashboard.html import graphs

from .anatomy_shape import (
    Anatomy,
    Environment,
    FileInUse,
    MemoryInUse,
    Mission,
    Model,
    ModelUse,
    Tools,
)

MEMORIES = 100
GOAL = "goal"  # the channel that says it, where an agent has one


def anatomy_of(thread: ThreadRow, point: CheckpointRow, state: Mapping[str, Any]) -> Anatomy:
    """Collect the records at a checkpoint beside its state, which may be {} if unread."""
    version = queries.agent_version(point.agent_version_id)
    calls = queries.calls_around(point.thread, point.id)
    return Anatomy(
        thread=thread.id,
        checkpoint=point.id,
        number=point.number,
        at=point.created_at,
        mission=_mission(thread, point, state, version),
        tools=Tools(
            results=[one for one in calls if not one.later],
            since=[one for one in calls if one.later],
            files=_files(state, calls),
            at_most=CALLS,
        ),
        model=Model(
            config=queries.config_at(point.thread, point.number),
            uses=_uses(one for one in calls if not one.later),
        ),
        environment=_environment(point, version),
        memories=_memories(thread, state),
    )


def _mission(
    thread: ThreadRow, point: CheckpointRow, state: Mapping[str, Any], version: AgentRow
) -> Mission:
    steps, n_steps = queries.steps_before(point.thread, point.id, limit=HISTORY)
    goal = state.get(GOAL)
    ahead = graphs.ahead(version.graph, point.next_nodes, begun=False)
    return Mission(
        goal=goal if isinstance(goal, str) and goal.strip() else thread.title,
        finished=steps,
        n_earlier=n_steps - len(steps),
        next_nodes=list(point.next_nodes),
        remaining=[n["name"] for n in version.graph.get("nodes", ()) if n["name"] in ahead],
        reasoning=queries.thoughts_before(point.thread, point.id),
        at_most=THOUGHTS,
    )


def _files(state: Mapping[str, Any], calls: Iterable[CallRow]) -> list[FileInUse]:
    """Each file once, with the place that names it first: the state, then the newest call."""
    named = [("state", ref) for ref in files_in(dict(state))]
    named += [(f"{one.node}: {one.tool}", ref) for one in calls for ref in files_in(one.files)]
    results: dict[str, FileInUse] = {}
    for where, ref in named:
        sha, size = ref["$artifact"], ref.get("size")
        results.setdefault(
            sha,
            FileInUse(
                sha256=sha,
                name=str(ref.get("name") or sha[:12]),
                media_type=str(ref.get("media_type") or ""),
                size=size if isinstance(size, int) else 0,
                named_by=where,
            ),
        )
    return list(results.values())


def _memories(thread: ThreadRow, state: Mapping[str, Any]) -> list[MemoryInUse]:
    """Each memory that the state refers to, once, in the order of the state."""
    named = list(islice(dict.fromkeys(refs_in(dict(state))), MEMORIES))
    rows = queries.memories_named([ident for ident, _ in named], workspace=thread.workspace)
    return [
        MemoryInUse(
            id=ident,
            revision=revision,
            newest=row.revision if (row := rows.get(ident)) else None,
            kind=row.kind if row else "",
            gone=row.gone_reason if row else "",
        )
        for ident, revision in named
    ]


def _uses(calls: Iterable[CallRow]) -> list[ModelUse]:
    """The model calls by what they asked for, the newest first."""
    results: dict[tuple[Any, ...], ModelUse] = {}
    for one in calls:
        if one.kind != "model":
            continue
        usage = one.usage if isinstance(one.usage, dict) else {}
        model = str(usage.get("model") or one.asked_model or "")
        what = (model, one.temperature, one.system)
        use = results.setdefault(
            what, ModelUse(model=model, temperature=one.temperature, system=one.system or "")
        )
        use.calls += 1
        use.tokens += int(usage.get("tokens") or 0)
        use.unpriced_calls += "unpriced" in usage
        use.cost = str(Decimal(use.cost) + Decimal(str(usage.get("cost") or 0)))
    return list(results.values())


def _environment(point: CheckpointRow, version: AgentRow) -> Environment:
    lease = queries.lease_before(point.thread, point.id)
    owner = str(lease.get("owner") or "")
    host = owner.removeprefix("worker:").split(":")[0] if owner.startswith("worker:") else ""
    return Environment(
        agent=version.agent,
        agent_version=version.version,
        version_label=version.label,
        fingerprint=version.fingerprint,
        schema_version=point.schema_version,
        packages=queries.packages_of(version.id),
        written_by=point.created_by,
        worker=owner,
        host=host,
        python=str(lease.get("python") or ""),
        gatepost=str(lease.get("gatepost") or ""),
    )

"""The dialog of a skip: the nodes that come next, and what the step has done outside already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from checkpoints import queries
from dashboard.errors import NotAllowedNow
from dashboard.identity.permissions import Actor, allowed_actions
from dashboard.kit.dialog import dialog

from .skip import SKIP, skippable


def _skip(who: Actor, texts: Mapping[str, str], *_: object, thread_id: UUID) -> dict[str, Any]:
    thread = queries.thread(thread_id, workspace=who.workspace)
    allowance = allowed_actions(who, thread)["skip"]
    if not allowance.allowed:
        raise NotAllowedNow(allowance.why)
    version = queries.agent_version(thread.agent_version_id)
    labels = {n["name"]: n.get("label") or n["name"] for n in version.graph.get("nodes", ())}
    nodes = [(name, labels.get(name, name)) for name in skippable(thread, version)]
    step = queries.step_activities(thread.id, branch=thread.branch, step=thread.step + 1)
    return {
        "thread": thread,
        "nodes": nodes,
        "chosen": texts.get("node", "") or (nodes[0][0] if nodes else ""),
        "effects": [one for one in step if one.kind == "effect" and one.state == "done"],
        "version": thread.version,
    }


skip = dialog(SKIP, "threads/skip.html", _skip, fields=("reason",))

"""Nodes that a person lets a stopped thread go past: which may be, and the deed with its reason."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from approvals import gates
from checkpoints import queries, store
from checkpoints.states import Status
from checkpoints.views import AgentRow, ThreadRow
from dashboard.errors import Conflict, Invalid, translated
from dashboard.fields.validation import REASON_MAX, check_node, check_text
from dashboard.identity.permissions import Actor, refuse_beyond, require
from workers.authoring.joins import Joins

from ..second_person import guarded


def skippable(thread: ThreadRow, version: AgentRow) -> tuple[str, ...]:
    """The nodes that work next; not those that wait for branches still under way."""
    nodes = version.graph.get("nodes", ())
    ways = {node["name"]: node.get("then", ()) for node in nodes}
    return Joins(ways, version.graph.get("entry", ())).ready(thread.next_nodes)


@guarded("skip")
@translated()
def skip(
    actor: Actor,
    thread_id: UUID,
    node: str,
    reason: str,
    expected_version: int | None = None,
) -> Status:
    """Let the thread go on as if the node had returned no update; its status afterwards.

    Open requests of the node are withdrawn; what it did outside stays done, and stays on the list
    of what a rollback undoes. Raises Conflict where it waits for other branches, NotAllowedNow
    where the thread is not stopped or the node is past.
    """
    require(actor, "skip")
    refuse_beyond(queries.thread(thread_id, workspace=actor.workspace), "skip")
    check_text("$.reason", reason, REASON_MAX, required=True)
    if not node:
        raise Invalid("$.node", "name the node to skip")
    with transaction.atomic():
        # Takes the thread's lock: nothing moves between the look and the deed.
        gates.withdraw_open(
            thread_id, node=node, reason=f"The node was skipped: {reason}", actor=actor.id
        )
        thread = queries.thread(thread_id, workspace=actor.workspace)
        version = queries.agent_version(thread.agent_version_id)
        check_node("$.node", node, version)
        if node in thread.next_nodes and node not in skippable(thread, version):
            raise Conflict(
                f"{node!r} waits for branches still under way; it can be skipped once it is next.",
                status=str(thread.status),
            )
        return store.skip(
            thread_id,
            node=node,
            reason=reason,
            actor=actor.id,
            expected_version=expected_version,
        )

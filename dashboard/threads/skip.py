"""Let a stopped thread go past a node, as if the node had returned no update."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from django.db import transaction
from pydantic import Field

from approvals import gates
from checkpoints import queries, store
from checkpoints.states import EventKind, Status
from checkpoints.views import AgentRow, ThreadRow
from dashboard.errors import Conflict
from dashboard.fields.validation import REASON_MAX, check_node
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action
from dashboard.kit.shapes.requests import Node, RequestShape
from dashboard.kit.shapes.texts import NotBlank
from dashboard.threads.target import thread_for
from dashboard.threads.thread_shapes import ThreadDetail
from workers.authoring.joins import Joins

from .target import THREAD


class Skip(RequestShape):
    """A node that the thread goes past."""

    node: Node = Field(description="The node to go past.")
    reason: Annotated[str, NotBlank(REASON_MAX)] = Field(
        description="Recorded with who skipped the node."
    )


def skippable(thread: ThreadRow, version: AgentRow) -> tuple[str, ...]:
    """The nodes that work next; not those that wait for branches still under way."""
    nodes = version.graph.get("nodes", ())
    ways = {node["name"]: node.get("then", ()) for node in nodes}
    return Joins(ways, version.graph.get("entry", ())).ready(thread.next_nodes)


def skip(actor: Actor, wanted: Skip, thread_id: UUID, *, expected_version: int | None) -> Status:
    """Let the thread continue as if the node had returned no update; its status afterwards.

    Open requests of the node are withdrawn; what it did outside stays done, and stays on the list
    of what a rollback undoes. Raises Conflict where it waits for other branches, NotAllowedNow
    where the thread is not stopped or the node is past.
    """
    thread_for(actor, "skip", thread_id)
    node, reason = wanted.node, wanted.reason
    with transaction.atomic():
        # Takes the thread's lock: nothing moves between reading the nodes and skipping one.
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


def _skipped(wanted: Skip, status: Status) -> str:
    paused = status == Status.PAUSED
    after = "Resume it to continue." if paused else "The thread continues without it."
    return f"Skipped {wanted.node}. {after}"


SKIP = Action(
    name="thread.skip",
    right="skip",
    target=THREAD,
    versioned=True,
    operation="skip",
    takes=Skip,
    answers=ThreadDetail,
    perform=skip,
    events=(EventKind.NODE_SKIPPED,),
    summary="Go past a node, as if it had returned no update",
    description="The node is recorded as finished with an empty update, with who skipped it "
    "and why. The agent's code then chooses the way on. What the node did outside stays done. "
    "409 while an effect of it has an unknown outcome.",
    help="go past a node that fails, as if it had returned no update",
    done=_skipped,
    examples="threads skip order-17 --node translate --reason 'the service was shut down'",
)

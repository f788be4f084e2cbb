"""Hand-offs: a thread ends, and one of another agent continues from its last checkpoint.

The first checkpoint of the successor has the last one of its giver as its parent, as that of a fork
has: the past is shared and nothing is copied. Both are written by one statement, so a giver that
ended has its successor, and a successor its checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from checkpoints.queries.installation.model_configurations import first_config
from checkpoints.records import Work
from checkpoints.state.channels import Digests
from checkpoints.states import EventKind
from checkpoints.views import AgentRow

from ..statement.moves import Move, NewCheckpoint, NewEvent, first_checkpoint
from ..steps import commit_step
from . import reach
from .new_threads import announce_threads, insert_threads, new_thread_row


@dataclass(frozen=True, slots=True)
class HandOff:
    """The successor: its id, its agent, and the change that makes its state of the giver's.

    `searchable` is its column of this name (see `statement.searchable`).
    """

    id: UUID
    agent: AgentRow
    delta: Mapping[str, Any]
    digests: Digests
    searchable: str | None = None


def commit_and_hand_off(
    work: Work,
    checkpoint: NewCheckpoint,
    hand_off: HandOff,
    *,
    events: Sequence[NewEvent] = (),
    **more: Any,
) -> None:
    """Commit the last step of a thread and begin its successor; raises LeaseLost."""
    row = _row(work, checkpoint, hand_off)
    handed_off = {
        "thread": row["id"],
        "chain": row["chain_id"],
        "agent": hand_off.agent.agent,
        "agent_version": str(hand_off.agent.id),
        "checkpoint": str(checkpoint.id),
    }

    def also(move: Move) -> None:
        insert_threads(move, [row])
        move.updates += [
            (
                "UPDATE gp_child k SET successor = %s::uuid FROM t WHERE k.child_id = t.id",
                (hand_off.id,),
            ),
            reach.move_pause(hand_off.id),
        ]

    commit_step(
        work,
        checkpoint,
        events=[*events, NewEvent(EventKind.THREAD_HANDED_OFF, handed_off, work.owner)],
        leave_by=EventKind.THREAD_SUCCEEDED,
        also=also,
        **more,
    )
    announce_threads(work.workspace, [row])


def reach_successor(thread: UUID, verb: str, *, actor: str) -> bool:
    """Let a verb reach the thread that took over from a child which handed over meanwhile."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT successor FROM gp_child WHERE child_id = %s::uuid AND outcome = 'handed_off'",
            (thread,),
        )
        heirs = cursor.fetchall()
    for (heir,) in heirs:
        reach.reach_one(heir, verb, actor=actor)
    return bool(heirs)


def _row(work: Work, checkpoint: NewCheckpoint, hand_off: HandOff) -> dict[str, Any]:
    """The successor as `new_threads.sql` takes it: in the place of its giver in the family tree."""
    with connection.cursor() as cursor:
        # An event of the giver that is there already: the one of this commit names its successor.
        cursor.execute(
            "SELECT last_seq, encode(last_hash, 'hex') FROM gp_thread WHERE id = %s::uuid",
            (work.thread,),
        )
        seq, last_hash = cursor.fetchone()
    agent = hand_off.agent
    first = first_checkpoint(
        step=checkpoint.step,
        parent=checkpoint.id,
        parent_thread=work.thread,
        parent_number=checkpoint.number,
        source="fork",
        next_nodes=tuple(agent.graph["entry"]),
        delta=hand_off.delta,
        state_hash=hand_off.digests.root,
        state_bytes=hand_off.digests.size,
        schema_version=agent.schema_version,
        agent_version=agent.id,
        created_by=work.started_by,
        config=first_config(agent, workspace=work.workspace) or None,
        digests=hand_off.digests,
    )
    return new_thread_row(
        hand_off.id,
        agent,
        first,
        kind=EventKind.THREAD_FORKED,
        data={
            "base": str(work.thread),
            "base_chain": str(work.chain_id),
            "base_seq": seq,
            "base_hash": last_hash,
            "base_checkpoint": str(checkpoint.id),
            "base_number": checkpoint.number,
            "changed": sorted({*hand_off.delta.get("set", {}), *hand_off.delta.get("unset", [])}),
            "reason": f"Handed over by {work.agent}",
            "hand_off": True,
        },
        title=work.title,
        effects=work.effects,
        parent=work.parent,
        root=work.root or work.thread,
        depth=work.depth,
        base=str(work.thread),
        forked_from=str(checkpoint.id),
        searchable=hand_off.searchable,
    )

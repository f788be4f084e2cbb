"""Write many steps of a locked thread together: rows by COPY, and one move of the thread's row.

The chain is made here, by the function with which it is verified: the statement of a single step
makes it in the database, where a batch would nest a level for each event.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from uuid import UUID

from ..chain.links import link
from ..postgres.copies import copy_rows
from ..postgres.named_rows import fetch_named
from ..tables.columns import EVENT
from .buffered_steps import BufferedStep
from .statement.checkpoint_rows import COPIED, checkpoint_row
from .statement.contents import CONTENT, content_params
from .statement.moves import Insert, Move, NewEvent, encode_event, head_sets, perform, take_title
from .statement.searchable import follow_steps


def lock_head(thread: UUID, *, token: UUID | None = None) -> Any:
    """The end of a thread's history, its row locked by this transaction; None where it is gone.

    With `token` only for who holds this lease. `at` is the time that a batch has: where the row
    changed while its lock was waited for, all is read again, so no event precedes the one before.
    """
    lease, values = ("", ()) if token is None else (" AND lease_token = %s::uuid", (token,))
    rows = fetch_named(
        "SELECT id, workspace_id, chain_id, head, number, step, last_seq, last_hash, "
        "clock_timestamp() AS at "
        f"FROM gp_thread WHERE id = %s::uuid{lease} FOR NO KEY UPDATE",
        (thread, *values),
    )
    return rows[0] if rows else None


def write_batch(row: Any, steps: Sequence[BufferedStep]) -> None:
    """Write steps that follow the head of a thread, as `lock_head` has read it.

    1. Make the rows of checkpoints and events, and the chain.
    2. Copy the checkpoints, then the events.
    3. Move the thread's row to the last of the steps, and add the contents of large values.

    A commit of each step would have written the same, but for the times.
    """
    batch = _Batch(row)
    # Before the copy: while one is under way, the connection takes no question.
    for step in steps:
        batch.add(step)
    copy_rows(COPIED, batch.checkpoints)
    copy_rows(EVENT, batch.events)
    if perform(_move(row, steps, batch)) is None:
        raise AssertionError("the head of a locked thread has moved")


class _Batch:
    """The rows of a batch: `checkpoints` are the values of COPIED, `events` those of EVENT."""

    def __init__(self, row: Any) -> None:
        self.row = row
        # As text: the driver would write each value anew for each row.
        self.thread, self.workspace = str(row.id), str(row.workspace_id)
        self.at = row.at.isoformat()
        self.checkpoints: list[tuple[Any, ...]] = []
        self.events: list[tuple[Any, ...]] = []
        self.new_events: list[NewEvent] = []
        self.contents: dict[str, bytes] = {}
        self.before, self.last_hash = b"", bytes(row.last_hash)

    @property
    def last_seq(self) -> int:
        """The number of the last event."""
        last: int = self.row.last_seq + len(self.events)
        return last

    def add(self, step: BufferedStep) -> None:
        """Add the checkpoint of a step and its events."""
        values, contents, committed = checkpoint_row(
            self.row.id, step.checkpoint, step.delta, step.digests
        )
        self.checkpoints.append((self.thread, self.workspace, self.at, *values))
        self.contents.update(contents)
        for event in (*step.before, committed, *step.events):
            self._chain(event)

    def _chain(self, event: NewEvent) -> None:
        """Add an event, chained to the one before it."""
        data, salt, data_hash = encode_event(event)
        seq, kind, before = self.last_seq + 1, str(event.kind), self.last_hash
        digest = link(
            chain=self.row.chain_id,
            seq=seq,
            kind=kind,
            v=event.v,
            actor=event.actor,
            at=self.row.at,
            data_hash=data_hash,
            prev_hash=before,
        )
        own = (kind, event.v, event.actor, data, salt, data_hash, self.at, before, digest)
        self.events.append((self.thread, seq, self.workspace, *own))
        self.new_events.append(event)
        self.before, self.last_hash = before, digest


def _move(row: Any, steps: Sequence[BufferedStep], batch: _Batch) -> Move:
    """The move of the thread's row from its head to the last of these steps."""
    move = Move(
        row.id,
        "th.head = %s::uuid AND th.last_seq = %s::bigint",
        (row.head, row.last_seq),
    )
    head_sets(move, steps[-1].checkpoint)
    move.express("version", "th.version + %s::bigint", len(steps))
    numbers = [row.step, *(step.checkpoint.step for step in steps)]
    move.express("n_steps", "th.n_steps + %s::bigint", sum(b > a for a, b in pairwise(numbers)))
    for column, value in (
        ("last_seq", batch.last_seq),
        ("last_hash", batch.last_hash),
        ("prev_hash", batch.before),
        ("last_at", row.at),
    ):
        move.set(column, value)
    take_title(move, batch.new_events)
    deltas = (step.checkpoint.delta for step in steps)
    follow_steps(move, deltas, version=steps[-1].version)
    if batch.contents:
        move.inserts = [Insert(CONTENT, content_params(batch.contents))]
    return move

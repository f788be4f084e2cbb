"""Checkpoints: one, lists, the way back to the first input, states and their differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import jsonpatch

from .. import payloads
from ..durabilities import NOT_KEPT
from ..errors import CorruptHistory, NotFound
from ..log.pins import accepted_after
from ..postgres import reads as prepared
from ..postgres.named_rows import fetch_named
from ..state import references
from ..states import Status
from ..tables import columns as tables
from ..tables.readers import Reader, record_of
from ..views import CheckpointRow, Page, StepTakenRow, ThreadRow
from .rows import decoded, names, rows
from .states import materialized

# Lists leave the delta out.
checkpoint_of = Reader(
    CheckpointRow,
    tables.CHECKPOINT,
    alias="c",
    sql={
        "thread": "thread_id",
        "delta": "{delta}",
        "state_hash": "encode(c.state_hash, 'hex')",
        "abandoned": "{abandoned}",
        "imported": "c.number <= (SELECT th.imported_number FROM gp_thread th "
        "WHERE th.id = c.thread_id)",
    },
    decode={"nodes": names, "next_nodes": names, "delta": lambda text: decoded(text) or {}},
)
CHECKPOINT = f"SELECT {checkpoint_of.select} FROM gp_checkpoint c "
_BY_ID = (
    CHECKPOINT.format(delta="c.delta::text", abandoned="false")
    + "WHERE c.thread_id = %s::uuid AND c.id = %s::uuid"
)
# The part of a thread's way to its head that lies in the thread itself.
_OWN_WAY = """
WITH RECURSIVE seg AS (
  SELECT h.branch_start AS lo, h.number AS hi FROM gp_thread th
  JOIN gp_checkpoint h ON h.thread_id = th.id AND h.id = th.head WHERE th.id = %s::uuid
  UNION ALL
  SELECT p.branch_start, p.number FROM seg s
  JOIN gp_checkpoint f ON f.thread_id = %s::uuid AND f.number = s.lo
  JOIN gp_checkpoint p ON p.thread_id = f.thread_id AND p.number = f.parent_number
  WHERE f.parent_thread = f.thread_id
)
"""
_BESIDE_THE_WAY = "NOT EXISTS (SELECT FROM seg s WHERE c.number BETWEEN s.lo AND s.hi)"


def state_at(thread_id: UUID, checkpoint_id: UUID) -> dict[str, Any]:
    """The full state at a checkpoint of this thread, from one query; raises NotFound."""
    return materialized.materialise(thread_id, checkpoint_id).state


def checkpoint_query(thread_id: UUID, checkpoint_id: UUID) -> prepared.Query:
    """The question that `checkpoint` asks the database."""
    return _BY_ID, (thread_id, checkpoint_id)


def checkpoint(
    thread_id: UUID, checkpoint_id: UUID, rows: Sequence[tuple[Any, ...]] | None = None
) -> CheckpointRow:
    """One checkpoint of this thread; raises NotFound.

    `rows` are the answer to `checkpoint_query` where somebody has it.
    """
    result = prepared.fetch(*checkpoint_query(thread_id, checkpoint_id)) if rows is None else rows
    if not result:
        # The head of an ephemeral thread is its own id.
        ephemeral = checkpoint_id == thread_id
        raise NotFound(NOT_KEPT if ephemeral else "There is no such checkpoint in this thread.")
    return checkpoint_of(result[0])


def checkpoint_by_number(thread_id: UUID, number: int) -> CheckpointRow:
    """The checkpoint with this ordinal in the thread; raises NotFound."""
    result = rows(
        CHECKPOINT.format(delta="c.delta::text", abandoned="false")
        + "WHERE c.thread_id = %s::uuid AND c.number = %s::integer",
        (thread_id, number),
    )
    if not result:
        raise NotFound("There is no such checkpoint in this thread.")
    return checkpoint_of(result[0])


def newest_of_branch(thread_id: UUID, branch: int) -> CheckpointRow:
    """The newest checkpoint of a branch of this thread; raises NotFound."""
    result = rows(
        CHECKPOINT.format(delta="c.delta::text", abandoned="false")
        + "WHERE c.thread_id = %s::uuid AND c.branch = %s::integer ORDER BY c.number DESC LIMIT 1",
        (thread_id, branch),
    )
    if not result:
        raise NotFound("There is no such branch in this thread.")
    return checkpoint_of(result[0])


def checkpoints(
    thread_id: UUID, *, limit: int = 50, before: int | None = None
) -> Page[CheckpointRow]:
    """A thread's own checkpoints, newest first, without deltas; cursor = ordinal.

    `abandoned` are those that the way to the head does not go through. One query, no state.
    """
    result = rows(
        _OWN_WAY
        + CHECKPOINT.format(delta="NULL", abandoned=_BESIDE_THE_WAY)
        + "WHERE c.thread_id = %s::uuid AND c.number < %s::integer "
        "ORDER BY c.number DESC LIMIT %s",
        (thread_id, thread_id, thread_id, 2**31 - 1 if before is None else before, limit + 1),
    )
    shown = tuple(checkpoint_of(r) for r in result[:limit])
    return Page(shown, str(shown[-1].number) if len(result) > limit else "")


# The first checkpoint comes whatever it weighs.
_DELTAS = (
    CHECKPOINT.format(delta="c.delta::text", abandoned="false").replace(
        "FROM gp_checkpoint c",
        "FROM (SELECT own.*, sum(pg_column_size(own.delta)) OVER (ORDER BY own.number) "
        "- pg_column_size(own.delta) AS before FROM gp_checkpoint own "
        "WHERE own.thread_id = %s::uuid AND own.number >= %s::integer "
        "ORDER BY own.number LIMIT %s) c",
    )
    + "WHERE c.before < %s ORDER BY c.number"
)
PAGE_BYTES = 2 * 1024 * 1024


def deltas_from(thread_id: UUID, number: int, *, limit: int = 50) -> list[CheckpointRow]:
    """A thread's own checkpoints from a number on, with whole deltas, oldest first.

    At most `limit`, and no more once they hold 2 MiB. One query, and one for each that has large
    values kept beside it; no state.
    """
    result = [checkpoint_of(r) for r in rows(_DELTAS, (thread_id, number, limit, PAGE_BYTES))]
    return [replace(row, delta=_whole(row)) for row in result]


def checkpoints_from(thread_id: UUID) -> list[CheckpointRow]:
    """All of a thread's own checkpoints with their deltas as stored, oldest first."""
    result = rows(
        CHECKPOINT.format(delta="c.delta::text", abandoned="false")
        + "WHERE c.thread_id = %s::uuid ORDER BY c.number",
        (thread_id,),
    )
    return [checkpoint_of(r) for r in result]


def _whole(row: CheckpointRow) -> dict[str, Any]:
    """The delta of a checkpoint with the values that it only names."""
    if references.PUT not in row.delta:
        return row.delta
    sizes = references.wanted(references.named(row.delta[references.PUT]).values())
    contents = payloads.fetched([row.thread], sizes, agent_version=row.agent_version_id)
    return references.resolved(row.delta, contents)


def values_set(
    thread_id: UUID, checkpoints: Sequence[UUID], channels: Sequence[str]
) -> dict[UUID, dict[str, Any]]:
    """Read the values that each checkpoint itself set in these channels; one query, no state.

    A large value that is stored beside its delta is left out.
    """
    if not checkpoints or not channels:
        return {}
    result = rows(
        "SELECT c.id, (SELECT jsonb_object_agg(s.key, s.value) FROM jsonb_each(c.delta -> 'set') s "
        "WHERE s.key = ANY(%s::text[]))::text FROM gp_checkpoint c "
        "WHERE c.thread_id = %s::uuid AND c.id = ANY(%s::uuid[])",
        (list(channels), thread_id, list(checkpoints)),
    )
    return {ident: decoded(text) or {} for ident, text in result if text is not None}


# The whole way from a checkpoint to the first input, one row per branch gone through.
BRANCHES = """
WITH RECURSIVE seg AS (
  SELECT c.thread_id, c.branch, c.branch_start AS lo, c.number AS hi, c.step AS hi_step, 0 AS depth
  FROM gp_checkpoint c WHERE c.thread_id = %s::uuid AND c.id = %s::uuid
  UNION ALL
  SELECT p.thread_id, p.branch, p.branch_start, p.number, p.step, s.depth + 1
  FROM seg s
  JOIN gp_checkpoint f ON f.thread_id = s.thread_id AND f.number = s.lo
  JOIN gp_checkpoint p ON p.thread_id = f.parent_thread AND p.number = f.parent_number
)
"""
_BRANCH_RANGES = f"{BRANCHES} SELECT thread_id, branch, lo, hi, hi_step FROM seg ORDER BY depth"


def edited_since(thread: ThreadRow) -> bool:
    """Return whether somebody edited a failed thread, or one in attention, after it stopped."""
    return thread.status in (Status.FAILED, Status.ATTENTION) and bool(
        rows(
            "SELECT 1 FROM gp_checkpoint WHERE thread_id = %s::uuid AND id = %s::uuid "
            "AND source = 'edit' AND created_at > %s::timestamptz",
            (thread.id, thread.head, thread.status_since),
        )
    )


def branch_ranges(thread_id: UUID, checkpoint_id: UUID) -> list[tuple[UUID, int, int, int, int]]:
    """Ranges (thread, branch, first number, last number, last step), newest first."""
    return [
        (thread, branch, first, last, step)
        for thread, branch, first, last, step in rows(_BRANCH_RANGES, (thread_id, checkpoint_id))
    ]


def lineage(thread_id: UUID, *, limit: int = 200) -> list[CheckpointRow]:
    """The thread's newest checkpoints, then those of its base up to the fork; newest first."""
    own = list(checkpoints(thread_id, limit=limit).rows)
    if own and own[-1].number == 0 and own[-1].parent_thread not in (None, thread_id):
        first = own[-1]
        for base, _, lo, hi, _ in branch_ranges(first.thread, first.id)[1:]:
            if len(own) >= limit:
                break
            result = rows(
                CHECKPOINT.format(delta="NULL", abandoned="false") + "WHERE c.thread_id = %s::uuid "
                "AND c.number BETWEEN %s::integer AND %s::integer ORDER BY c.number DESC LIMIT %s",
                (base, lo, hi, limit - len(own)),
            )
            own += [checkpoint_of(r) for r in result]
    return own


# Of each part of a way the end is named by its numbers, so that no plan reads more of it.
_STEPS = f"""{BRANCHES}
SELECT c.number, c.step, c.source, c.nodes::text, c.next_nodes::text, c.created_at AS at,
  c.thread_id AS thread, (SELECT sum(hi - lo + 1) FROM seg)::bigint AS n_all
FROM (SELECT * FROM seg ORDER BY depth LIMIT %s) s CROSS JOIN LATERAL (
  SELECT * FROM gp_checkpoint own WHERE own.thread_id = s.thread_id
  AND own.number BETWEEN greatest(s.lo, s.hi - %s::integer + 1) AND s.hi OFFSET 0
) c ORDER BY s.depth, c.number DESC LIMIT %s
"""


def steps_before(
    thread_id: UUID, checkpoint_id: UUID, *, limit: int = 20
) -> tuple[list[StepTakenRow], int]:
    """The newest checkpoints on the way to one, itself included, oldest first; and how many in all.

    They never change: neither does what lies before them. No state is read.
    """
    result = fetch_named(_STEPS, (thread_id, checkpoint_id, limit, limit, limit))
    shown = [record_of(StepTakenRow, r, nodes=names, next_nodes=names) for r in reversed(result)]
    return shown, result[0].n_all if result else 0


def newest_sound(thread_id: UUID, checkpoint_id: UUID) -> CheckpointRow | None:
    """The newest checkpoint before this one whose state fits its hash; None when there is none.

    Goes back within the thread and to where its branch began: the steps after it find what was
    recorded of them, those before it stand in another branch and would happen once more.
    """
    result = first = checkpoint(thread_id, checkpoint_id)
    while result.parent is not None and result.parent_thread == thread_id:
        before, result = result, checkpoint(thread_id, result.parent)
        if result.branch != first.branch and result.step != before.step:
            return None
        try:
            materialized.checked(thread_id, result.id)
        except CorruptHistory:
            continue
        return result
    return None


def upgraded_from(thread_id: UUID) -> set[UUID]:
    """The agent versions that wrote what upgrades of this thread's state began with."""
    result = rows(
        "SELECT DISTINCT p.agent_version_id FROM gp_checkpoint c JOIN gp_checkpoint p "
        "ON p.thread_id = c.parent_thread AND p.number = c.parent_number "
        "WHERE c.thread_id = %s::uuid AND c.source = 'upgrade'",
        (thread_id,),
    )
    return {version for (version,) in result}


def accepted_from(thread_id: UUID) -> set[UUID]:
    """The agent versions whose decisions hold under the code that people accepted since."""
    result = rows(
        "SELECT data::text FROM gp_event WHERE thread_id = %s::uuid AND kind = 'code.changed' "
        "ORDER BY seq",
        (thread_id,),
    )
    upgraded = {str(version) for version in upgraded_from(thread_id)}
    accepted: set[str] = set()
    for (data,) in result:
        accepted = accepted_after(accepted, decoded(data), upgraded)
    return {UUID(version) for version in accepted}


def diff(old: dict[str, Any], new: dict[str, Any]) -> list[dict[str, Any]]:
    """List the differences between two states as RFC 6902 operations."""
    results: list[dict[str, Any]] = jsonpatch.make_patch(old, new).patch
    return results

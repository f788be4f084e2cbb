"""Checkpoints: one, lists, the way back to the first input, states and their differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import jsonpatch

from ..errors import CorruptHistory, NotFound
from ..log.pins import accepted_after
from ..views import CheckpointRow, Page, StepRow
from .rows import decoded, names, row_of, rows
from .states import materialized

CHECKPOINT = """
SELECT c.id, c.thread_id, c.number, c.branch, c.step, c.parent, c.parent_thread, c.parent_number,
  c.source, c.nodes::text, c.next_nodes::text, {delta}, encode(c.state_hash, 'hex'),
  c.state_bytes, c.schema_version, c.agent_version_id, c.created_by, c.created_at, {abandoned},
  c.number <= (SELECT th.imported_number FROM gp_thread th WHERE th.id = c.thread_id)
FROM gp_checkpoint c
"""
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


def checkpoint_of(values: Sequence[Any]) -> CheckpointRow:
    """A checkpoint as selected by CHECKPOINT; without its delta where that was left out."""
    return row_of(
        CheckpointRow, values, {9: names, 10: names, 11: lambda text: decoded(text) or {}}
    )


def state_at(thread_id: UUID, checkpoint_id: UUID) -> dict[str, Any]:
    """The full state at a checkpoint of this thread, from one query; raises NotFound."""
    return materialized.materialise(thread_id, checkpoint_id).state


def checkpoint(thread_id: UUID, checkpoint_id: UUID) -> CheckpointRow:
    """One checkpoint of this thread; raises NotFound."""
    found = rows(
        CHECKPOINT.format(delta="c.delta::text", abandoned="false")
        + "WHERE c.thread_id = %s::uuid AND c.id = %s::uuid",
        (thread_id, checkpoint_id),
    )
    if not found:
        raise NotFound("There is no such checkpoint in this thread.")
    return checkpoint_of(found[0])


def checkpoint_by_number(thread_id: UUID, number: int) -> CheckpointRow:
    """The checkpoint with this ordinal in the thread; raises NotFound."""
    found = rows(
        CHECKPOINT.format(delta="c.delta::text", abandoned="false")
        + "WHERE c.thread_id = %s::uuid AND c.number = %s::integer",
        (thread_id, number),
    )
    if not found:
        raise NotFound("There is no such checkpoint in this thread.")
    return checkpoint_of(found[0])


def checkpoints(
    thread_id: UUID, *, limit: int = 50, before: int | None = None
) -> Page[CheckpointRow]:
    """A thread's own checkpoints, newest first, without deltas; cursor = ordinal.

    `abandoned` are those that the way to the head does not go through. One query, no state.
    """
    found = rows(
        _OWN_WAY
        + CHECKPOINT.format(delta="NULL", abandoned=_BESIDE_THE_WAY)
        + "WHERE c.thread_id = %s::uuid AND c.number < %s::integer "
        "ORDER BY c.number DESC LIMIT %s",
        (thread_id, thread_id, thread_id, 2**31 - 1 if before is None else before, limit + 1),
    )
    shown = tuple(checkpoint_of(r) for r in found[:limit])
    return Page(shown, str(shown[-1].number) if len(found) > limit else "")


def config_of(thread_id: UUID) -> dict[str, Any]:
    """Model, temperature, prompt texts and the like that hold for the thread; {} where none do.

    Given when the thread began and kept on its first checkpoint; a fork's has its base's in it.
    """
    found = rows(
        "SELECT config::text FROM gp_checkpoint WHERE thread_id = %s::uuid AND number = 0",
        (thread_id,),
    )
    return (decoded(found[0][0]) or {}) if found else {}


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
_WAY = f"{BRANCHES} SELECT thread_id, branch, lo, hi, hi_step FROM seg ORDER BY depth"


def way(thread_id: UUID, checkpoint_id: UUID) -> list[tuple[UUID, int, int, int, int]]:
    """Ranges (thread, branch, first number, last number, last step), newest first."""
    return [(r[0], r[1], r[2], r[3], r[4]) for r in rows(_WAY, (thread_id, checkpoint_id))]


def lineage(thread_id: UUID, *, limit: int = 200) -> list[CheckpointRow]:
    """The thread's newest checkpoints, then those of its base up to the fork; newest first."""
    own = list(checkpoints(thread_id, limit=limit).rows)
    if own and own[-1].number == 0 and own[-1].parent_thread not in (None, thread_id):
        first = own[-1]
        for base, _, lo, hi, _ in way(first.thread, first.id)[1:]:
            if len(own) >= limit:
                break
            found = rows(
                CHECKPOINT.format(delta="NULL", abandoned="false") + "WHERE c.thread_id = %s::uuid "
                "AND c.number BETWEEN %s::integer AND %s::integer ORDER BY c.number DESC LIMIT %s",
                (base, lo, hi, limit - len(own)),
            )
            own += [checkpoint_of(r) for r in found]
    return own


# Of each part of a way the end is named by its numbers, so that no plan reads more of it.
_STEPS = f"""{BRANCHES}
SELECT c.number, c.step, c.source, c.nodes::text, c.next_nodes::text, c.created_at,
  c.thread_id, (SELECT sum(hi - lo + 1) FROM seg)::bigint
FROM (SELECT * FROM seg ORDER BY depth LIMIT %s) s CROSS JOIN LATERAL (
  SELECT * FROM gp_checkpoint own WHERE own.thread_id = s.thread_id
  AND own.number BETWEEN greatest(s.lo, s.hi - %s::integer + 1) AND s.hi OFFSET 0
) c ORDER BY s.depth, c.number DESC LIMIT %s
"""


def steps_before(
    thread_id: UUID, checkpoint_id: UUID, *, limit: int = 20
) -> tuple[list[StepRow], int]:
    """The newest checkpoints on the way to one, itself included, oldest first; and how many in all.

    They never change: neither does what lies before them. No state is read.
    """
    found = rows(_STEPS, (thread_id, checkpoint_id, limit, limit, limit))
    shown = [row_of(StepRow, r[:-1], {3: names, 4: names}) for r in reversed(found)]
    return shown, found[0][-1] if found else 0


def newest_sound(thread_id: UUID, checkpoint_id: UUID) -> CheckpointRow | None:
    """The newest checkpoint before this one whose state fits its hash; None when there is none.

    Goes back within the thread and to where its branch began: the steps after it find what was
    recorded of them, those before it stand in another branch and would happen once more.
    """
    found = first = checkpoint(thread_id, checkpoint_id)
    while found.parent is not None and found.parent_thread == thread_id:
        before, found = found, checkpoint(thread_id, found.parent)
        if found.branch != first.branch and found.step != before.step:
            return None
        try:
            materialized.checked(thread_id, found.id)
        except CorruptHistory:
            continue
        return found
    return None


def upgraded_from(thread_id: UUID) -> set[UUID]:
    """The agent versions that wrote what upgrades of this thread's state began with."""
    found = rows(
        "SELECT DISTINCT p.agent_version_id FROM gp_checkpoint c JOIN gp_checkpoint p "
        "ON p.thread_id = c.parent_thread AND p.number = c.parent_number "
        "WHERE c.thread_id = %s::uuid AND c.source = 'upgrade'",
        (thread_id,),
    )
    return {version for (version,) in found}


def accepted_from(thread_id: UUID) -> set[UUID]:
    """The agent versions whose decisions hold under the code that people accepted since."""
    found = rows(
        "SELECT data::text FROM gp_event WHERE thread_id = %s::uuid AND kind = 'code.changed' "
        "ORDER BY seq",
        (thread_id,),
    )
    upgraded = {str(version) for version in upgraded_from(thread_id)}
    accepted: set[str] = set()
    for (data,) in found:
        accepted = accepted_after(accepted, decoded(data), upgraded)
    return {UUID(version) for version in accepted}


def diff(old: dict[str, Any], new: dict[str, Any]) -> list[dict[str, Any]]:
    """What changed between two states, as RFC 6902 operations."""
    found: list[dict[str, Any]] = jsonpatch.make_patch(old, new).patch
    return found

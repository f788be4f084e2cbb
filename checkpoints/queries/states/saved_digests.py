"""The digests of a state without the state: kept with some checkpoints, brought up to date here.

A person's change replaces whole channels. What the state's hash is then follows from the digests
of the other channels, and those from what the newest checkpoint before it kept and the few deltas
since. They prove themselves: what comes out must be the hash that the checkpoint has in the chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from checkpoints.errors import GatepostError
from checkpoints.postgres import reads as prepared
from checkpoints.state import deltas
from checkpoints.state.channels import reducers_of
from checkpoints.state.digests import Digests, NeedsState

# So many checkpoints of a branch keep their digests once, which costs a step some two bytes.
EVERY = 32
# A delta of so many bytes would cost each reader after it more than the digests cost the writer.
LARGE = 32 * 1024
# A fork whose past goes through more threads than these is read as a whole.
RANGES = 8


def due(number: int, delta_bytes: int) -> bool:
    """Whether the checkpoint of this number, with a delta of this size, keeps its digests.

    The first one of a thread has nothing before it that a reader could be spared.
    """
    return (number > 0 and number % EVERY == 0) or delta_bytes >= LARGE


_NEWEST = f"""(SELECT max(k.number) FROM gp_checkpoint k WHERE k.thread_id = {{0}}.thread_id
  AND k.number BETWEEN greatest({{0}}.branch_start, {{0}}.number - {EVERY - 1}) AND {{0}}.number
  AND k.digests IS NOT NULL)"""
_DIGESTS = f"""
WITH RECURSIVE seg AS (
  SELECT c.thread_id, c.number AS hi, c.branch_start AS lo, 0 AS depth,
         {_NEWEST.format("c")} AS kept, encode(c.state_hash, 'hex') AS root, c.state_bytes,
         c.agent_version_id
  FROM gp_checkpoint c WHERE c.thread_id = %s::uuid AND c.id = %s::uuid
  UNION ALL
  SELECT p.thread_id, p.number, p.branch_start, s.depth + 1, {_NEWEST.format("p")},
         NULL, NULL, NULL
  FROM seg s
  JOIN gp_checkpoint f ON f.thread_id = s.thread_id AND f.number = s.lo
  JOIN gp_checkpoint p ON p.thread_id = f.parent_thread AND p.number = f.parent_number
  WHERE s.kept IS NULL AND s.hi - s.lo < {EVERY} AND s.depth < {RANGES}
)
SELECT s.root, s.state_bytes, CASE WHEN x.number = s.hi THEN (SELECT v.channels::text
    FROM gp_agent_version v WHERE v.id = s.agent_version_id) END, x.parent IS NULL,
  encode(CASE WHEN x.number = s.kept THEN x.digests END, 'hex'),
  CASE WHEN x.number = s.kept THEN NULL ELSE x.delta::text END
FROM seg s, LATERAL (
  SELECT c.number, c.parent, c.digests, c.delta FROM gp_checkpoint c
  WHERE c.thread_id = s.thread_id AND c.number BETWEEN
    coalesce(s.kept, greatest(s.lo, s.hi - {EVERY - 1})) AND s.hi OFFSET 0) x
ORDER BY s.depth DESC, x.number
"""


def asked(thread: UUID, checkpoint: UUID) -> prepared.Asked:
    """What `digests_at` asks the database."""
    return _DIGESTS, (thread, checkpoint)


def digests_at(
    thread: UUID, checkpoint: UUID, rows: Sequence[tuple[Any, ...]] | None = None
) -> Digests | None:
    """The digests of the state there, proved by its hash, at a cost without the length of the past.

    `rows` are the answer to `asked` where somebody has it. None where they cannot be told from what
    was kept: the checkpoint is unknown, history from before digests were kept or from a capsule, an
    object that members joined since, damage.
    """
    if rows is None:
        rows = prepared.fetch(*asked(thread, checkpoint))
    if not rows:
        return None
    root, size, channels = rows[-1][:3]
    reducers = reducers_of(deltas.decode(channels))
    first_input, kept = rows[0][3], rows[0][4]
    if kept is None and not first_input:
        return None
    try:
        digests = Digests.resumed(bytes.fromhex(kept or ""), reducers)
        for *_, body in rows[1:] if kept is not None else rows:
            digests.follow(deltas.decode_stored(body))
    except (NeedsState, GatepostError, ValueError, TypeError, AttributeError):
        return None
    found = (digests.root.hex(), digests.size)
    return digests if found == (root, size) else None

"""How much a thread takes: one query whose cost does not grow with the steps."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from .. import payloads
from ..errors import NotFound
from ..views import StorageRow
from .rows import rows

# So many rows of each log are looked at, evenly spread; a shorter thread is added up in full.
SAMPLE = 64
# So many activities are counted one by one.
EXACT = 200
# What a row of each kind takes beside the values that are measured, its index entries included.
EVENT, CHECKPOINT, ACTIVITY, CONTENT = 360, 420, 460, 200

_STORAGE = f"""
WITH th AS (SELECT id, agent_version_id, last_seq AS events, number + 1 AS checkpoints,
    greatest(1, ceil(last_seq / {SAMPLE}.0)::bigint) AS event_stride,
    greatest(1, ceil((number + 1) / {SAMPLE}.0)::integer) AS checkpoint_stride
  FROM gp_thread WHERE id = %s::uuid),
e AS (SELECT avg(pg_column_size(x.data)) AS size FROM th,
  generate_series(th.events, 1, -th.event_stride) AS g (place),
  LATERAL (SELECT data FROM gp_event WHERE thread_id = th.id AND seq = g.place
    OFFSET 0) x),
c AS (SELECT avg(pg_column_size(x.delta)) AS size FROM th,
  generate_series(th.checkpoints - 1, 0, -th.checkpoint_stride) AS g (place),
  LATERAL (SELECT delta FROM gp_checkpoint WHERE thread_id = th.id AND number = g.place
    OFFSET 0) x),
k AS (SELECT count(*) AS n, coalesce(sum(pg_column_size(x.state)), 0) AS size
  FROM th JOIN gp_keyframe x ON x.thread_id = th.id),
g AS (SELECT count(*) AS n, coalesce(sum(pg_column_size(x.body) + {CONTENT}), 0) AS size
  FROM th JOIN gp_content x ON x.thread_id = th.id),
a AS (SELECT avg(pg_column_size(x.args) + coalesce(pg_column_size(x.result), 0)) AS size FROM th,
  LATERAL (SELECT args, result FROM gp_activity WHERE thread_id = th.id LIMIT {SAMPLE}) x),
r AS (SELECT count(*) AS n, count(DISTINCT (x.branch, x.step)) AS steps FROM th,
  LATERAL (SELECT branch, step FROM gp_activity WHERE thread_id = th.id
    ORDER BY branch DESC, step DESC LIMIT {EXACT}) x),
n AS (SELECT CASE WHEN r.n < {EXACT} THEN r.n
  ELSE greatest(r.n, r.n * th.checkpoints / greatest(r.steps, 1)) END AS activities FROM th, r)
SELECT th.events, th.checkpoints, n.activities, k.n,
  (th.events * (coalesce(e.size, 0) + {EVENT}) + th.checkpoints * (coalesce(c.size, 0)
    + {CHECKPOINT}) + n.activities * (coalesce(a.size, 0) + {ACTIVITY}) + k.size
    + g.size)::bigint,
  greatest(th.events, th.checkpoints, n.activities) <= {SAMPLE}, g.n,
  (SELECT v.graph ->> 'payloads' FROM gp_agent_version v WHERE v.id = th.agent_version_id)
FROM th, e, c, k, a, n, g
"""


def storage(thread_id: UUID) -> StorageRow:
    """Rows and bytes of a thread's own past, without what it shares with a base; raises NotFound.

    Counts are exact, but more than 200 activities are told by those of the newest steps. Bytes
    are those of the values as stored and a share per row, estimated from a sample on a thread
    with more than 64 rows of a kind. Contents in files are counted where they lie; `files_away`
    says that they could not be.
    """
    found = rows(_STORAGE, (thread_id,))
    if not found:
        raise NotFound("There is no such thread.")
    *counted, kind = found[0]
    row = StorageRow(*counted)
    if kind == payloads.FILE:
        held = payloads.FilePayloads().held(thread_id)
        if held is None:
            return replace(row, files_away=True)
        n, size = held
        row = replace(row, bytes=row.bytes + size, contents=row.contents + n, file_bytes=size)
    return row

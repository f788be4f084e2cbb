-- before -- The newest checkpoint of a branch at a time: what was there when a request was made.
SELECT id, number FROM gp_checkpoint WHERE thread_id = %s::uuid AND branch = %s::integer
  AND created_at <= %s::timestamptz ORDER BY number DESC LIMIT 1

-- outputs_before -- Finished calls on the way to a checkpoint, newest last.
-- Those of the step after it count where they had finished by then. Answers of models are left out.
-- A call that is too large, or beyond the bytes that are read together, comes without its content.
-- A call that was done again counts once, by its highest revision. No join of gp_activity with
-- itself: it is a nested loop over the thread while statistics call the table nearly empty.
{branches}
SELECT w.id, w.thread, w.tool, w.node, w.step, w.kind, w.finished_at,
  CASE WHEN w.readable THEN a.args::text END AS args,
  CASE WHEN w.readable THEN a.result::text END AS result, w.readable, w.exchanged
FROM (
  SELECT r.*, r.bytes <= %s AND sum(r.bytes) FILTER (WHERE r.bytes <= %s) OVER (
    ORDER BY r.depth, r.step DESC, r.started_at DESC, r.id DESC) <= %s AS readable
  FROM (
    SELECT x.id, x.thread_id AS thread, x.branch, x.tool, x.node, x.step, x.kind, x.started_at,
      x.finished_at, s.depth, pg_column_size(x.args) + pg_column_size(x.result) AS bytes,
      coalesce(x.usage ? 'instead_of', false) AS exchanged
    FROM (SELECT * FROM seg ORDER BY depth LIMIT %s) s CROSS JOIN LATERAL (
      SELECT recent.*, max(recent.revision) FILTER (WHERE recent.state = 'done') OVER (
        PARTITION BY recent.step, recent.node, recent.index, recent.key) AS last_done
      FROM (
        SELECT * FROM gp_activity own WHERE own.thread_id = s.thread_id AND own.branch = s.branch
        AND own.step <= s.hi_step + (s.depth = 0)::integer ORDER BY own.step DESC LIMIT %s
      ) recent
    ) x
    WHERE x.state = 'done' AND x.finished_at <= %s::timestamptz AND x.result IS NOT NULL
      AND (x.kind IN ('activity', 'effect') OR (x.kind = 'value' AND x.tool IN ('now', 'uuid')))
      AND x.revision = x.last_done
    ORDER BY s.depth, x.step DESC, x.started_at DESC, x.id DESC LIMIT %s
  ) r
) w CROSS JOIN LATERAL (SELECT args, result FROM gp_activity WHERE id = w.id OFFSET 0) a
ORDER BY w.finished_at, w.id

-- entered_before -- Checkpoints on the way to one that people wrote: inputs, messages, edits, forks.
-- An agent that works elsewhere signs in as a person and names itself; a child has its input of
-- its parent.
{branches}
SELECT c.id, c.thread_id AS thread, c.number, c.source, c.created_by AS actor, c.parent,
  c.parent_thread, c.number <= th.imported_number AS imported,
  CASE WHEN pg_column_size(c.delta) <= %s THEN c.delta::text END AS delta,
  CASE WHEN c.source = 'input' AND c.number = 0 THEN v.channels::text END AS channels,
  coalesce((SELECT p.state_bytes FROM gp_checkpoint p WHERE p.thread_id = c.parent_thread
    AND p.id = c.parent), 0) AS bytes_before
FROM (SELECT * FROM seg ORDER BY depth LIMIT %s) s CROSS JOIN LATERAL (
  SELECT * FROM gp_checkpoint x WHERE x.thread_id = s.thread_id
  AND x.number BETWEEN s.lo AND s.hi AND x.source IN ('input', 'edit', 'fork') OFFSET 0
) c JOIN gp_thread th ON th.id = c.thread_id
JOIN gp_agent_version v ON v.id = c.agent_version_id
WHERE c.created_by LIKE 'user:%%' AND c.created_by NOT LIKE '%%/agent:%%'
  AND NOT (c.number = 0 AND c.source = 'input' AND th.parent IS NOT NULL)
ORDER BY s.depth, c.number DESC LIMIT %s

-- recorded_at -- For calls by id, thread and time: the event that recorded each, and the checkpoint
-- that holds it; null where none does yet.
-- By halves: events and checkpoints of a thread have rising times.
SELECT p.id, e.seq, e.kind, e.actor, (
  WITH RECURSIVE half (lo, hi) AS (
    SELECT -1, th.number + 1 FROM gp_thread th WHERE th.id = p.thread
    UNION ALL
    SELECT CASE WHEN c.created_at < p.at THEN c.number ELSE h.lo END,
      CASE WHEN c.created_at < p.at THEN h.hi ELSE c.number END
    FROM half h JOIN gp_checkpoint c ON c.thread_id = p.thread AND c.number = (h.lo + h.hi) / 2
    WHERE h.hi - h.lo > 1
  ) SELECT c.number FROM gp_checkpoint c WHERE c.thread_id = p.thread
    AND c.number = (SELECT min(hi) FROM half)
) AS checkpoint
FROM unnest(%s::uuid[], %s::uuid[], %s::timestamptz[]) AS p (id, thread, at)
LEFT JOIN LATERAL (
  WITH RECURSIVE half (lo, hi) AS (
    SELECT 0::bigint, th.last_seq + 1 FROM gp_thread th WHERE th.id = p.thread
    UNION ALL
    SELECT CASE WHEN x.at <= p.at THEN x.seq ELSE h.lo END,
      CASE WHEN x.at <= p.at THEN h.hi ELSE x.seq END
    FROM half h JOIN gp_event x ON x.thread_id = p.thread AND x.seq = (h.lo + h.hi) / 2
    WHERE h.hi - h.lo > 1
  ) SELECT x.seq, x.kind, x.actor FROM gp_event x WHERE x.thread_id = p.thread
    AND x.seq BETWEEN (SELECT max(lo) FROM half) - 3 AND (SELECT max(lo) FROM half)
    ORDER BY x.data ->> 'activity' = p.id::text DESC NULLS LAST, x.seq DESC LIMIT 1
) e ON true

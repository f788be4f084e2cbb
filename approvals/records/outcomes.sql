-- requests -- The requests that were answered and not refused. `next_step` is the step of the next
-- such request of the thread: what happens from there on, that one has to answer for.
SELECT a.id, a.workspace_id, a.thread_id, a.branch, a.step, a.node, a.kind, a.tool, a.decided_at,
  (SELECT n.step FROM gp_approval n WHERE n.thread_id = a.thread_id AND n.branch = a.branch
    AND n.step > a.step AND n.status = 'settled' AND n.outcome <> 'reject'
    AND n.kind <> 'operation' ORDER BY n.step LIMIT 1) AS next_step
FROM gp_approval a WHERE a.id = ANY(%(ids)s::uuid[]) AND a.workspace_id = %(workspace)s::uuid
  AND a.status = 'settled' AND a.outcome <> 'reject'

-- named -- Effects whose record names the request, each with all of its attempts.
SELECT r.id AS approval, 'request' AS relation, x.* FROM requests r
JOIN gp_activity x ON x.approval_id = r.id WHERE x.kind = 'effect'

-- of_node -- Effects without a request of their own that the node made after the answer it waited for.
SELECT r.id AS approval, 'node' AS relation, x.* FROM requests r CROSS JOIN LATERAL (
  SELECT y.* FROM gp_activity y WHERE y.thread_id = r.thread_id AND y.branch = r.branch
    AND y.step = r.step AND y.node = r.node AND y.kind = 'effect' AND y.approval_id IS NULL
    AND y.started_at >= r.decided_at ORDER BY y.started_at, y.id LIMIT %(limit)s) x
WHERE r.kind <> 'operation'

-- later -- Effects without a request of their own in later steps, before the next request that
-- was not refused; of a long thread among the first calls after it.
SELECT r.id AS approval, 'later' AS relation, x.* FROM requests r CROSS JOIN LATERAL (
  SELECT y.* FROM (SELECT c.* FROM gp_activity c WHERE c.thread_id = r.thread_id
    AND c.branch = r.branch AND c.step > r.step AND (r.next_step IS NULL OR c.step < r.next_step)
    ORDER BY c.step, c.node, c.index, c.key, c.revision LIMIT %(window)s) y
  WHERE y.kind = 'effect' AND y.approval_id IS NULL ORDER BY y.started_at, y.id LIMIT %(limit)s) x
WHERE r.kind <> 'operation'

-- unseen -- Requests with more calls afterwards than are looked through.
SELECT r.id AS approval, 'unseen' AS relation, x.* FROM requests r CROSS JOIN LATERAL (
  SELECT c.* FROM gp_activity c WHERE c.thread_id = r.thread_id
    AND c.branch = r.branch AND c.step > r.step AND (r.next_step IS NULL OR c.step < r.next_step)
    ORDER BY c.step, c.node, c.index, c.key, c.revision OFFSET %(window)s LIMIT 1) x
WHERE r.kind <> 'operation'

-- carried_out -- The transaction in which an approved operation was carried out.
SELECT d.xid8 FROM gp_event d WHERE d.workspace_id = r.workspace_id
  AND d.kind IN ({decisions}) AND d.kind = 'operation.done'
  AND d.at >= r.decided_at - interval '1 minute' AND d.at < r.decided_at + interval '1 minute'
  AND d.thread_id = r.thread_id AND d.data ->> 'approval' = r.id::text LIMIT 1

-- undone -- Effects that an approved rollback was to undo; it started when it was decided.
SELECT r.id AS approval, 'undo' AS relation, x.* FROM requests r CROSS JOIN LATERAL (
  SELECT e.data FROM gp_event e WHERE e.workspace_id = r.workspace_id AND e.kind IN ({notable})
    AND e.kind = 'rollback.started' AND e.at >= r.decided_at - interval '1 minute'
    AND e.at < r.decided_at + interval '1 minute' AND e.thread_id = r.thread_id
    AND e.xid8 = ({carried_out}) LIMIT 1) e
JOIN gp_activity x ON x.thread_id = r.thread_id AND x.id = ANY(ARRAY(
  SELECT (u.id)::uuid FROM jsonb_array_elements_text(e.data -> 'undo') u (id)))
WHERE r.kind = 'operation'

-- of_fork -- Effects without a request of their own in the fork that was approved; it was made in the
-- transaction that carried the operation out.
SELECT r.id AS approval, 'fork' AS relation, x.* FROM requests r CROSS JOIN LATERAL (
  SELECT e.thread_id FROM gp_event e WHERE e.workspace_id = r.workspace_id AND e.kind IN ({notable})
    AND e.kind = 'thread.forked' AND e.at >= r.decided_at - interval '1 minute'
    AND e.at < r.decided_at + interval '1 minute' AND e.data ->> 'base' = r.thread_id::text
    AND e.xid8 = ({carried_out}) LIMIT 1) f CROSS JOIN LATERAL (
  SELECT y.* FROM gp_activity y WHERE y.thread_id = f.thread_id AND y.kind = 'effect'
    AND y.approval_id IS NULL ORDER BY y.started_at, y.id LIMIT %(limit)s) x
WHERE r.kind = 'operation'

-- outcomes -- All of them, in the order in which they started; with the last undo that failed, unless
-- one succeeded.
WITH requests AS MATERIALIZED ({requests})
SELECT o.approval, o.relation, o.id AS activity, o.thread_id AS thread, o.tool, o.state,
  coalesce(o.usage ->> 'sentence', '') AS sentence, o.error, o.attempts, o.undo, o.started_at,
  o.finished_at, f.seq IS NOT NULL AS undo_failed, coalesce(f.error, '') AS undo_error
FROM ({named} UNION ALL {of_node} UNION ALL {later} UNION ALL {undone} UNION ALL {of_fork}
  UNION ALL {unseen}) o
LEFT JOIN LATERAL (SELECT e.seq, e.data ->> 'error' AS error FROM gp_event e
  WHERE e.thread_id = o.thread_id AND e.kind = 'compensation.failed'
    AND e.data ->> 'activity' = o.id::text ORDER BY e.seq DESC LIMIT 1) f
  ON o.state <> 'compensated'
ORDER BY o.approval, array_position(ARRAY['request', 'node', 'later', 'undo', 'fork'], o.relation),
  o.started_at, o.id

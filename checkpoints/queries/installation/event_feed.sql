-- feed -- Committed events after a cursor, in an order that no later commit changes.
-- Events of the kinds asked for come with their data and with what a span needs of the thread, of
-- the first thread of its tree and of the activity; the others only move the cursor.
SELECT e.xid8::text::bigint AS xid, e.thread_id AS thread, e.seq, e.kind, e.actor, e.at,
  e.data::text AS data, e.workspace_id AS workspace, e.seq <= th.imported_seq AS imported,
  th.chain_id AS chain, th.agent, th.created_at, th.tokens, trim_scale(th.cost)::text AS cost,
  th.n_steps AS steps, v.version::text AS version, p.chain_id AS parent_chain,
  coalesce(r.chain_id, th.chain_id) AS root_chain,
  (SELECT f.data ->> 'traceparent' FROM gp_event f
   WHERE f.thread_id = coalesce(r.id, th.id) AND f.seq = 1) AS traceparent,
  a.kind AS activity_kind, a.revision, a.started_at, a.usage::text AS usage, c.branch,
  CASE WHEN e.kind IN ('checkpoint.committed', 'step.failed') THEN (
    SELECT b.at FROM gp_event b WHERE b.thread_id = e.thread_id AND b.seq < e.seq
    AND b.kind IN ('checkpoint.committed', 'thread.started', 'thread.forked', 'thread.resumed',
      'thread.retried', 'node.skipped', 'step.failed', 'rollback.run_on')
    ORDER BY b.seq DESC LIMIT 1) END AS began,
  CASE WHEN e.kind IN ('thread.succeeded', 'thread.failed', 'thread.cancelled') THEN (
    SELECT max(b.at) FROM gp_event b WHERE b.thread_id = e.thread_id AND b.seq < e.seq
    AND b.kind IN ('thread.succeeded', 'thread.failed', 'thread.cancelled')) END AS ended_before
FROM (SELECT x.xid8, x.thread_id, x.seq, x.kind, x.actor, x.at, x.workspace_id,
    CASE WHEN x.kind = ANY(%s::text[]) THEN x.data END AS data FROM gp_event x
  WHERE (x.xid8, x.thread_id, x.seq) > (%s::bigint::text::xid8, %s::uuid, %s::bigint)
  AND x.xid8 < pg_snapshot_xmin(pg_current_snapshot())
  ORDER BY x.xid8, x.thread_id, x.seq LIMIT %s) e
JOIN gp_thread th ON th.id = e.thread_id
JOIN gp_agent_version v ON v.id = th.agent_version_id
LEFT JOIN gp_thread r ON r.id = th.root
LEFT JOIN gp_thread p ON p.id = th.parent
LEFT JOIN gp_activity a ON a.thread_id = e.thread_id
  AND a.id = CASE WHEN e.kind = ANY(%s::text[]) THEN (e.data ->> 'activity')::uuid END
LEFT JOIN gp_checkpoint c ON c.thread_id = e.thread_id
  AND c.id = CASE WHEN e.kind = 'checkpoint.committed' THEN (e.data ->> 'checkpoint')::uuid END
ORDER BY e.xid8, e.thread_id, e.seq

-- figures -- Spans sent and dropped so far, and the age of the first event that is not exported.
SELECT x.sent, x.dropped, coalesce((SELECT greatest(extract(epoch FROM clock_timestamp() - e.at), 0)
  FROM gp_event e WHERE (e.xid8, e.thread_id, e.seq) > (x.xid::text::xid8, x.thread_id, x.seq)
  ORDER BY e.xid8, e.thread_id, e.seq LIMIT 1), 0)::float8 AS lag_seconds
FROM gp_span_export x WHERE x.name = %s::varchar

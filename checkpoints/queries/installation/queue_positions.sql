-- position -- The threads before a queued one: of its workspace, and in the turns of others meanwhile.
-- One probe of gp_thread_turn for each other workspace of the queue; no more rows than are counted.
WITH RECURSIVE me AS MATERIALIZED (
  SELECT queue, workspace_id, status_since,
    CASE WHEN moved_up_at >= status_since THEN moved_up_at END AS moved_up_at FROM gp_thread
  WHERE id = %s::uuid AND status = 'queued'
),
own AS MATERIALIZED (
  SELECT count(*) AS before FROM (
    SELECT FROM me JOIN gp_thread o ON o.queue = me.queue AND o.workspace_id = me.workspace_id
      AND o.status = 'queued' AND o.moved_up_at >= o.status_since
      AND (me.moved_up_at IS NULL OR o.moved_up_at > me.moved_up_at)
    UNION ALL
    SELECT FROM me JOIN gp_thread o ON o.queue = me.queue AND o.workspace_id = me.workspace_id
      AND o.status = 'queued' AND o.status_since < me.status_since
      AND (o.moved_up_at >= o.status_since) IS NOT TRUE
    WHERE me.moved_up_at IS NULL
    LIMIT {counted}
  ) earlier
),
other (workspace) AS (
  SELECT '00000000-0000-0000-0000-000000000000'::uuid
  UNION ALL
  SELECT (SELECT o.workspace_id FROM gp_thread o WHERE o.queue = me.queue AND o.status = 'queued'
      AND o.workspace_id > other.workspace ORDER BY o.workspace_id LIMIT 1)
  FROM other CROSS JOIN me WHERE other.workspace IS NOT NULL
),
taken AS (
  SELECT other.workspace FROM other CROSS JOIN me CROSS JOIN own CROSS JOIN LATERAL (
    SELECT FROM gp_thread o WHERE o.queue = me.queue AND o.workspace_id = other.workspace
      AND o.status = 'queued' LIMIT own.before + 1
  ) turn
  WHERE other.workspace <> me.workspace_id
  LIMIT {counted}
)
SELECT me.queue, own.before, (SELECT count(*) FROM taken) AS turns,
  (SELECT count(DISTINCT workspace) FROM taken) AS workspaces
FROM me CROSS JOIN own

-- turn -- The workspaces that have threads on a queue, each once, from the one behind a given one on.
-- One probe of gp_thread_turn for each; read only as far as somebody asks. The workspace of the
-- thread that rang has a turn in any case: what waits for it need not be queued.
turn (n, workspace, wrapped) AS (
  SELECT 0, g.after, FALSE FROM given g
  UNION ALL
  SELECT t.n + 1, coalesce(later.workspace, '00000000-0000-0000-0000-000000000000'),
    t.wrapped OR later.workspace IS NULL
  FROM turn t CROSS JOIN given g CROSS JOIN LATERAL (SELECT least(
    (SELECT th.workspace_id FROM gp_thread th
      WHERE th.queue = g.queue AND th.status = 'queued'
        AND th.workspace_id > t.workspace ORDER BY th.workspace_id LIMIT 1),
    CASE WHEN g.own > t.workspace THEN g.own END) AS workspace) later
  WHERE NOT t.wrapped OR later.workspace <= g.after
)

-- next_queued -- The thread of a queue whose turn it is: workspaces in turn, of each what a person
-- moved up last, then the oldest. In the turn of its own workspace the thread that rang stands for
-- the oldest. Of each workspace a few are looked at: a breaker may stop thousands. The lock ends
-- with this statement: it spreads slots over threads, `acquire` decides. It is not worth a flush.
WITH RECURSIVE served AS MATERIALIZED ({served}),
unflushed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS v),
given AS MATERIALIZED (
  SELECT %s::text AS queue, %s::uuid AS after, %s::uuid AS named,
    (SELECT workspace_id FROM gp_thread WHERE id = %s::uuid) AS own
),
{turn}
SELECT coalesce(mine.id, g.named) AS thread, t.workspace
FROM unflushed u CROSS JOIN turn t CROSS JOIN given g
LEFT JOIN LATERAL (
  SELECT th.id FROM (
    (SELECT *, moved_up_at AS first FROM gp_thread
    WHERE queue = g.queue AND workspace_id = t.workspace AND status = 'queued'
      AND moved_up_at >= status_since
    ORDER BY moved_up_at DESC LIMIT {looked_at})
    UNION ALL
    (SELECT *, NULL AS first FROM gp_thread
    WHERE queue = g.queue AND workspace_id = t.workspace AND status = 'queued'
      AND t.workspace IS DISTINCT FROM g.own
    ORDER BY status_since LIMIT {looked_at})
  ) th
  WHERE (%s::boolean OR th.agent_version_id = ANY(%s::uuid[]) OR (NOT th.pinned
      AND NOT EXISTS (SELECT 1 FROM served s WHERE s.queues ? th.queue
        AND (s.version = th.agent_version_id::text
          OR (s.agent = th.agent AND th.agent <> ALL(%s::text[]))))))
    AND NOT EXISTS ({stopped_by})
  ORDER BY th.first DESC NULLS LAST, th.status_since  -- a hash join keeps no order
) able ON TRUE
LEFT JOIN LATERAL (
  SELECT th.id FROM gp_thread th WHERE th.id = able.id AND th.status = 'queued'
  FOR UPDATE SKIP LOCKED
) mine ON TRUE
WHERE u.v = 'off' AND t.n > 0 AND (mine.id IS NOT NULL OR t.workspace = g.own)
LIMIT 1

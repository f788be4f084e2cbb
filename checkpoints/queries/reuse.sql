-- reusable -- Pure results recorded at a step by the code that now works, nearest course first.
-- The thread's own former branches, then its bases up to the moment that each was forked: what a
-- base does later belongs to it alone. A branch must have begun with the thread's code, in threads
-- that have kept it.
WITH RECURSIVE family AS (
  SELECT th.id AS of_thread, th.base, th.branch - 1 AS top, 'infinity'::timestamptz AS until,
    0 AS depth, th.agent_version_id
  FROM gp_thread th JOIN gp_checkpoint c ON c.thread_id = th.id AND c.number = th.branch_start
  WHERE th.id = %s::uuid AND c.agent_version_id = th.agent_version_id
  UNION ALL
  SELECT b.id, b.base, b.branch, least(f.until, own.created_at), f.depth + 1, b.agent_version_id
  FROM family f JOIN gp_thread own ON own.id = f.of_thread JOIN gp_thread b ON b.id = f.base
)
SELECT {columns} FROM family f
CROSS JOIN LATERAL generate_series(0, f.top) AS g (of_branch)
CROSS JOIN LATERAL (
  SELECT * FROM gp_activity x WHERE x.thread_id = f.of_thread AND x.branch = g.of_branch
  AND x.step = %s::integer OFFSET 0
) a
WHERE f.agent_version_id = %s::uuid AND a.finished_at <= f.until
  AND a.kind = ANY(%s::text[]) AND a.state = 'done'
ORDER BY f.depth, a.branch DESC, a.revision DESC LIMIT %s

-- touched -- The first step after a checkpoint at which a person's values joined the state.
SELECT min(step) AS step FROM gp_checkpoint WHERE thread_id = %s::uuid AND branch = ANY(%s::integer[])
  AND number > %s::integer AND source IN ('input', 'edit', 'upgrade')

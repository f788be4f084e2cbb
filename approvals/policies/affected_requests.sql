-- columns -- What policies look at, and what the request met.
a.id, a.thread_id AS thread, a.status, a.policy_version, a.risk, a.decided_by,
  a.terms::text AS terms, a.escalated_at IS NOT NULL AS escalated, a.tool, a.undo,
  coalesce(a.decided_args, a.standing_args, a.args)::text AS args, th.agent,
  th.cost::text AS cost, th.labels::text AS labels, th.started_by,
  CASE WHEN a.kind = 'gate' AND a.tool = '' THEN a.node ELSE '' END AS node

-- undone -- Requests whose effect may still happen: open, held, and settled but not started.
-- Settled ones are looked for at the step where their thread stands, since the past of a workspace
-- grows without end.
SELECT {columns} FROM gp_approval a
JOIN gp_thread th ON th.id = a.thread_id
WHERE a.workspace_id = %(workspace)s::uuid AND a.kind IN ('gate', 'repeat') AND NOT a.imported
  AND a.status IN ('pending', 'held') AND a.id > %(after)s::uuid
UNION ALL
SELECT {columns} FROM gp_thread th
JOIN gp_approval a ON a.thread_id = th.id AND a.branch = th.branch AND a.step = th.step + 1
WHERE th.workspace_id = %(workspace)s::uuid
  AND th.status IN ('queued', 'running', 'waiting', 'sleeping', 'paused', 'attention')
  AND a.kind IN ('gate', 'repeat') AND NOT a.imported AND a.status = 'settled'
  AND a.outcome IN ('approve', 'edit') AND a.id > %(after)s::uuid
  AND NOT EXISTS (SELECT 1 FROM gp_activity x WHERE x.approval_id = a.id)
  AND NOT EXISTS (SELECT 1 FROM gp_approval n WHERE n.thread_id = a.thread_id
    AND n.branch = a.branch AND n.step = a.step AND n.node = a.node AND n.index = a.index
    AND n.key = a.key AND n.revision > a.revision)
ORDER BY 1 LIMIT %(limit)s

-- requests -- Requests as a list shows them; `args` only where they are not too large for a list.
SELECT a.id, a.thread_id AS thread, th.title AS thread_title, th.agent, a.title, a.kind, a.tool,
  a.risk, a.undo, a.status, a.outcome,
  coalesce(nullif(a.standing_hash, ''), a.proposal_hash) AS standing_hash,
  coalesce(a.decide_by, a.deadline) AS decide_by, a.requested_at, a.decided_at, a.decided_by,
  a.decided_by_name, a.imported, a.terms::text, a.escalated_at IS NOT NULL AS escalated,
  a.standing_hash <> '' AS edited, a.tally::text, a.due_seats, a.due_except,
  CASE WHEN pg_column_size(coalesce(a.standing_args, a.args)) <= {args_shown}
    THEN coalesce(a.standing_args, a.args)::text END AS args,
  {sentence} AS sentence,
  EXISTS (SELECT 1 FROM gp_verification k WHERE k.thread_id = a.thread_id AND NOT k.intact)
    AS damaged,
  coalesce(v.graph -> 'external' ->> 'framework', '') AS framework
FROM gp_approval a JOIN gp_thread th ON th.id = a.thread_id
JOIN gp_agent_version v ON v.id = a.agent_version_id
WHERE a.id = ANY(%s::uuid[]) AND a.workspace_id = %s::uuid

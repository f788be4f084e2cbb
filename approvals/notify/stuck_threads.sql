-- announce -- Put each thread in the outbox that is noted as stuck while an endpoint wants to know.
-- One news per standstill: it counts from where the note does.
INSERT INTO gp_outbox (id, workspace_id, kind, thread_id, checkpoint_id, data)
SELECT gen_random_uuid(), th.workspace_id, 'thread.stuck', th.id, th.head,
  jsonb_build_object('status', th.status, 'agent', th.agent, 'title', th.title, 'name', th.name,
    'version', th.version, 'checkpoint_number', th.number, 'labels', th.labels,
    'node', k.node, 'rule', k.rule, 'reason', k.reason,
    'seconds', floor(extract(epoch FROM clock_timestamp() - k.since)))
FROM gp_stuck k JOIN gp_thread th ON th.id = k.thread_id
  AND th.status_since = k.status_since AND (k.last_seq IS NULL OR k.last_seq = th.last_seq)
WHERE th.status <> 'attention'
  AND NOT EXISTS ({stopped_by})
  AND EXISTS (SELECT 1 FROM gp_endpoint e WHERE e.workspace_id = th.workspace_id
    AND e.active AND jsonb_exists(e.events, 'thread.stuck'))
  AND NOT EXISTS (SELECT 1 FROM gp_outbox n WHERE n.thread_id = th.id
    AND n.kind = 'thread.stuck' AND n.at > k.since)
ORDER BY k.since LIMIT %s

-- announce_waiting -- Put each thread in the outbox that an agent elsewhere could take, where an endpoint wants it.
-- One news per time that it waits: it counts from the change of status, or the end of the lease.
INSERT INTO gp_outbox (id, workspace_id, kind, thread_id, checkpoint_id, data)
SELECT gen_random_uuid(), th.workspace_id, 'thread.work_waiting', th.id, th.head,
  jsonb_build_object('status', th.status, 'agent', th.agent, 'title', th.title, 'name', th.name,
    'version', th.version, 'checkpoint_number', th.number, 'labels', th.labels,
    'reason', CASE th.status WHEN 'queued' THEN 'It can be taken.'
      WHEN 'running' THEN 'Its lease has expired.' ELSE 'Effects are to be undone.' END)
FROM gp_thread th
CROSS JOIN LATERAL (SELECT greatest(th.status_since, th.lease_until) AS since) s
WHERE th.queue = '{external}'
  AND (th.status = 'queued'
    OR (th.status = 'rolling_back' AND th.lease_token IS NULL)
    OR (th.status IN ('running', 'rolling_back') AND th.lease_until < clock_timestamp()))
  AND NOT EXISTS ({stopped_by})
  AND EXISTS (SELECT 1 FROM gp_endpoint e WHERE e.workspace_id = th.workspace_id
    AND e.active AND jsonb_exists(e.events, 'thread.work_waiting'))
  AND NOT EXISTS (SELECT 1 FROM gp_outbox n WHERE n.thread_id = th.id
    AND n.kind = 'thread.work_waiting' AND n.at >= s.since)
ORDER BY s.since LIMIT %s

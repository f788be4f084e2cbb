-- stuck -- Threads of a workspace (named twice) that are stuck: each with its node, rule, since when and why.
SELECT th.id, th.title, th.status, th.agent, coalesce(th.next_nodes ->> 0, '') AS node,
  'attention' AS rule, th.status_since AS since, th.status_reason AS reason
FROM gp_thread th WHERE th.workspace_id = %s::uuid AND th.status = 'attention'
UNION ALL
SELECT th.id, th.title, th.status, n.agent, n.node, n.rule, n.since, n.reason
FROM gp_stuck n JOIN gp_thread th ON th.id = n.thread_id
WHERE n.workspace_id = %s::uuid AND {current}

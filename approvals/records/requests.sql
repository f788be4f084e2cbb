-- requests -- What was proposed in these requests of a workspace, as its hash binds it.
SELECT a.id, a.thread_id, a.branch, a.step, a.node, a.index, a.key, a.tool, a.args::text AS args,
  a.agent_version_id, a.policy_version, a.deadline, a.origin::text AS origin, a.proposal_hash,
  a.title, a.risk, a.requested_at, a.imported
FROM gp_approval a WHERE a.id = ANY(%(ids)s::uuid[]) AND a.workspace_id = %(workspace)s::uuid
ORDER BY a.id

-- decisions -- The verdicts on them, as their hash binds them.
SELECT d.id, d.approval_id, d.reviewer, d.reviewer_name, d.verdict, d.proposal_hash, d.comment,
  d.args::text AS args, d.what_next, d.salt, d.hash, d.at
FROM gp_decision d WHERE d.approval_id = ANY(%(ids)s::uuid[])
  AND d.workspace_id = %(workspace)s::uuid ORDER BY d.approval_id, d.at, d.id

-- looks -- Who opened a request first when, while it was open.
SELECT l.person, l.at FROM gp_approval_look l
WHERE l.approval_id = %(id)s::uuid AND l.workspace_id = %(workspace)s::uuid ORDER BY l.at LIMIT 200

-- notices -- What was sent about a request, to whom, and the outcome.
SELECT n.kind, e.name AS endpoint, e.kind AS channel, d.recipient, d.created_at, d.done_at,
  d.failed_at, d.skipped
FROM gp_outbox n JOIN gp_delivery d ON d.news_id = n.id JOIN gp_endpoint e ON e.id = d.endpoint_id
WHERE n.approval_id = %(id)s::uuid AND n.workspace_id = %(workspace)s::uuid
ORDER BY d.created_at, d.id LIMIT 200

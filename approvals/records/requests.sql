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

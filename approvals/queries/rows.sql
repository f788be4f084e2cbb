-- request -- Requests with their threads; a condition follows. Its columns are ApprovalRow's fields.
SELECT a.id, a.workspace_id AS workspace, a.thread_id AS thread, th.title AS thread_title,
  th.agent, a.agent_version_id, a.branch, a.step, a.node, a.index, a.key, a.revision, a.kind,
  a.tool, a.args::text, a.proposal_hash, a.title, a.description, a.reasons::text, a.risk,
  a.schema::text, a.undo, a.deadline, a.status, a.outcome, a.comment, a.decided_by,
  a.decided_by_name, a.decided_at, a.decided_args::text, a.effective_at, a.requested_at,
  a.imported, a.policy_version, a.terms::text, a.standing_args::text,
  coalesce(nullif(a.standing_hash, ''), a.proposal_hash) AS standing_hash,
  coalesce(a.decide_by, a.deadline) AS decide_by, a.escalated_at, a.what_next, a.policies,
  a.tally::text, a.due_seats, a.due_except, a.repeats::text, a.sentence, a.origin::text,
  EXISTS (SELECT 1 FROM gp_verification k WHERE k.thread_id = a.thread_id AND NOT k.intact)
    AS damaged
FROM gp_approval a JOIN gp_thread th ON th.id = a.thread_id

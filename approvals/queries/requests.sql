-- at_step -- Requests of one step, the newest revision of a position last.
{request} WHERE a.thread_id = %s::uuid AND a.branch = %s::integer AND a.step = %s::integer
ORDER BY a.requested_at, a.revision

-- at_next_step -- Requests of the step after the head of a thread, as it is then.
{request} WHERE a.thread_id = %s::uuid AND a.branch = th.branch AND a.step = th.step + 1
ORDER BY a.requested_at, a.revision

-- by_id -- Those of these requests that are of the workspace.
{request} WHERE a.id = ANY(%(ids)s::uuid[]) AND a.workspace_id = %(workspace)s::uuid

-- of_thread -- The newest requests of a thread in some of the statuses.
{request} WHERE a.thread_id = %(thread)s::uuid
  AND (%(statuses)s::text[] IS NULL OR a.status = ANY(%(statuses)s::text[]))
ORDER BY a.requested_at DESC, a.id DESC LIMIT 100

-- waiting -- Open requests of a workspace, or of one thread, by age, from behind one of them.
-- Planned for its parameters.
{request} WHERE a.workspace_id = %(workspace)s::uuid AND a.status = 'pending'
  AND (%(thread)s::uuid IS NULL OR a.thread_id = %(thread)s::uuid)
  AND (%(after)s::uuid IS NULL OR (a.requested_at, a.id) > (SELECT b.requested_at, b.id
    FROM gp_approval b WHERE b.id = %(after)s::uuid AND b.workspace_id = %(workspace)s::uuid))
ORDER BY a.requested_at, a.id LIMIT %(limit)s

-- newest -- Requests of a workspace, or of one thread, in a status, newest first; `decided` is any but open.
-- Planned for its parameters.
{request} WHERE a.workspace_id = %(workspace)s::uuid
  AND CASE %(status)s::text WHEN '' THEN true WHEN 'decided' THEN a.status <> 'pending'
    ELSE a.status = %(status)s::text END
  AND (%(thread)s::uuid IS NULL OR a.thread_id = %(thread)s::uuid)
  AND (%(after)s::uuid IS NULL OR (a.requested_at, a.id) < (SELECT b.requested_at, b.id
    FROM gp_approval b WHERE b.id = %(after)s::uuid AND b.workspace_id = %(workspace)s::uuid))
ORDER BY a.requested_at DESC, a.id DESC LIMIT %(limit)s

-- decided_before -- The newest decisions on a tool of an agent, among the last 1,000 requests.
{request} WHERE a.id IN (SELECT x.id FROM (SELECT b.id, b.tool, b.status FROM gp_approval b
    WHERE b.workspace_id = %(workspace)s::uuid AND b.requested_at < %(before)s::timestamptz
    ORDER BY b.requested_at DESC, b.id DESC LIMIT 1000) x
  WHERE x.tool = %(tool)s::varchar AND x.status = 'settled')
  AND th.agent = %(agent)s::varchar AND a.kind IN ('gate', 'repeat')
ORDER BY a.decided_at DESC LIMIT %(limit)s

-- votes -- All verdicts on a request, oldest first; `counts` where its count names them.
SELECT a.tally IS NOT NULL AS is_counted, d.id AS decision, d.reviewer, d.reviewer_name,
  d.verdict, d.proposal_hash, d.comment, d.what_next, d.for_person, d.at, jsonb_path_exists(a.tally,
    '$.stages[*].given[*].decision ? (@ == $id)', jsonb_build_object('id', d.id)) AS counts,
  d.args::text AS args
FROM gp_decision d JOIN gp_approval a ON a.id = d.approval_id
WHERE d.approval_id = %(request)s::uuid ORDER BY d.at, d.id

-- in_workspace -- Whether a request lies in the workspace.
SELECT true AS is_there FROM gp_approval WHERE id = %s::uuid AND workspace_id = %s::uuid

-- words_in_thread -- What people wrote in verdicts on a thread's requests up to a time, newest first.
-- Those on one of the requests count whenever they came.
SELECT d.id, a.id AS approval, a.kind, d.reviewer, d.reviewer_name, d.verdict, d.comment, a.imported,
  CASE WHEN pg_column_size(a.args) <= %(bytes)s THEN d.args::text END AS args,
  CASE WHEN pg_column_size(a.args) <= %(bytes)s AND d.args IS NOT NULL THEN a.args::text END
    AS asked_args
FROM gp_approval a JOIN gp_decision d ON d.approval_id = a.id
WHERE a.thread_id = %(thread)s::uuid AND (d.at <= %(before)s::timestamptz OR a.id = %(request)s::uuid)
ORDER BY d.at DESC, d.id DESC LIMIT 50

-- newest_branch -- The branch of the head of a thread, with the step in progress.
SELECT th.id, th.branch, th.branch_start AS lo, th.step + 1 AS top FROM gp_thread th
WHERE th.id = %s::uuid

-- branches_before -- Of each branch before it in the thread, the steps up to where the next left it.
SELECT s.id, p.branch, p.branch_start, p.step FROM seg s
JOIN gp_checkpoint f ON f.thread_id = s.id AND f.number = s.lo
JOIN gp_checkpoint p ON p.thread_id = s.id AND p.number = f.parent_number
WHERE f.parent_thread = s.id

-- recorded_work -- Calls recorded in these branches, added up, and whether there are branches.
SELECT 1 AS resumes, count(*) AS calls, count(*) FILTER (WHERE x.kind = 'model') AS model_calls,
  coalesce(sum((x.usage ->> 'tokens')::bigint), 0)::bigint AS tokens,
  trim_scale(coalesce(sum((x.usage ->> 'cost')::numeric), 0))::text AS cost,
  coalesce(sum(coalesce((x.usage ->> 'milliseconds')::bigint, CASE WHEN x.kind = 'effect'
    THEN extract(epoch FROM x.finished_at - x.started_at) * 1000 END)), 0)::bigint AS milliseconds,
  count(*) FILTER (WHERE x.usage ? 'unpriced') AS unpriced_calls,
  EXISTS (SELECT 1 FROM seg) AS is_faulty
FROM (SELECT DISTINCT ON (a.branch, a.step, a.node, a.index, a.key)
    a.kind, a.state, a.usage, a.started_at, a.finished_at
  FROM seg s JOIN gp_activity a ON a.thread_id = s.id AND a.branch = s.branch AND a.step <= s.top
  WHERE a.kind IN ('activity', 'model', 'effect')
  ORDER BY a.branch, a.step, a.node, a.index, a.key, a.revision DESC) x
WHERE x.state = 'done' AND NOT coalesce(x.usage ? 'reused_from', false)

-- before_takeover -- The work recorded in a thread whose lease has expired.
WITH RECURSIVE seg AS (
  {newest_branch} AND th.lease_until < clock_timestamp() UNION ALL {branches_before}
)
{recorded_work}

-- before_retry -- The work recorded in a thread that a failure or a crash loop has stopped.
-- Waiting for people, other code, an unknown outcome: these are no faults of a worker or a step.
WITH RECURSIVE seg AS (
  {newest_branch} AND (th.status = 'failed'
    OR (th.status = 'attention' AND th.crash_count >= {crashes_allowed}))
  UNION ALL {branches_before}
)
{recorded_work}

-- sums -- What faults say was not done again, added up; each is one resume.
SELECT count(*) AS resumes, coalesce(sum((x.s ->> 'calls')::bigint), 0)::bigint AS calls,
  coalesce(sum((x.s ->> 'model_calls')::bigint), 0)::bigint AS model_calls,
  coalesce(sum((x.s ->> 'tokens')::bigint), 0)::bigint AS tokens,
  trim_scale(coalesce(sum((x.s ->> 'cost')::numeric), 0))::text AS cost,
  coalesce(sum((x.s ->> 'milliseconds')::bigint), 0)::bigint AS milliseconds,
  coalesce(sum((x.s ->> 'unpriced_calls')::bigint), 0)::bigint AS unpriced_calls

-- saved_of_thread -- The sums over the newest faults of a thread.
{sums}
FROM (SELECT e.s FROM ({faults_of_thread}) e
  ORDER BY seq DESC LIMIT %(newest)s) x WHERE x.s IS NOT NULL

-- saved_of_workspace -- The sums over the faults of the newest threads of a workspace.
{sums}
FROM (SELECT e.s FROM ({faults_of_workspace}) e
  ORDER BY thread_id DESC, seq DESC LIMIT %(newest)s) x WHERE x.s IS NOT NULL

-- decided -- Decisions of people in a range of time: when, verdict, by whom, seconds since the request.
-- Waits are those for people: a verdict through a token or by a script says nothing of them.
-- Their requests one by one: the planner would rather read all of a workspace (OFFSET 0).
SELECT d.at, a.agent, d.verdict, split_part(d.reviewer, '/', 1) AS person, d.reviewer_name AS name,
  extract(epoch FROM d.at - a.requested_at)::float8 AS took,
  d.verdict NOT IN ('respond', 'take_back') AND d.reviewer !~ '/(token|script):' AS counts
FROM gp_decision d CROSS JOIN LATERAL (SELECT a.requested_at, v.agent FROM gp_approval a
  JOIN gp_agent_version v ON v.id = a.agent_version_id WHERE a.id = d.approval_id
  AND a.workspace_id = d.workspace_id AND NOT a.imported OFFSET 0) a
WHERE d.workspace_id = %(workspace)s::uuid
  AND d.at >= %(low)s::timestamptz AND d.at < %(high)s::timestamptz

-- counted -- The same by time, agent, verdict and person: how many, and the waits that count.
SELECT date_trunc(%(unit)s::text, x.at, 'UTC') AS at, x.agent, x.verdict, x.person,
  max(x.name) AS name, count(*) AS n,
  coalesce(jsonb_agg(x.took) FILTER (WHERE x.counts), '[]') AS waits
FROM ({decided}) x WHERE %(agent)s::text = '' OR x.agent = %(agent)s::text GROUP BY 1, 2, 3, 4

-- until -- The beginning of the first day that is not added up.
SELECT u.day::timestamp AT TIME ZONE 'UTC' AS at FROM gp_decided_until u
WHERE u.workspace_id = %(workspace)s::uuid

-- folded -- Days of a range that are added up, in the same columns.
SELECT f.day::timestamp AT TIME ZONE 'UTC' AS at, f.agent, f.verdict, f.person, f.name, f.n, f.waits
FROM gp_decided_day f WHERE f.workspace_id = %(workspace)s::uuid
  AND f.day >= %(low)s::timestamptz AT TIME ZONE 'UTC'
  AND f.day < %(high)s::timestamptz AT TIME ZONE 'UTC'
  AND (%(agent)s::text = '' OR f.agent = %(agent)s::text)

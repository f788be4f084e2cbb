-- decided -- Decisions of people in a range of time: when, verdict, by whom, seconds since the request.
-- Waits are those for people: a verdict through a token or by a script says nothing of them.
-- Their requests one by one: the planner would rather read all of a workspace (OFFSET 0).
SELECT date_trunc(%(unit)s, d.at, 'UTC') AS at, d.verdict, split_part(d.reviewer, '/', 1) AS person,
  d.reviewer_name AS name, extract(epoch FROM d.at - a.requested_at)::float8 AS took,
  d.verdict NOT IN ('respond', 'take_back') AND d.reviewer !~ '/(token|script):' AS counts
FROM gp_decision d CROSS JOIN LATERAL (SELECT * FROM gp_approval a WHERE a.id = d.approval_id
  AND a.workspace_id = d.workspace_id AND NOT a.imported
  AND a.requested_at >= %(low)s::timestamptz - make_interval(days => {before}) OFFSET 0) a
WHERE d.workspace_id = %(workspace)s::uuid
  AND d.at >= %(low)s::timestamptz AND d.at < %(high)s::timestamptz
  AND (%(agent)s::text = '' OR EXISTS (SELECT 1 FROM gp_agent_version v
    WHERE v.id = a.agent_version_id AND v.agent = %(agent)s::text))

-- summed -- The same by time and verdict, by time, by reviewer, and in all: how many, and their waits.
SELECT x.at, x.verdict, x.person, max(x.name) AS name, count(*) AS n,
  count(*) FILTER (WHERE x.counts) AS counted,
  percentile_cont(0.5) WITHIN GROUP (ORDER BY x.took) FILTER (WHERE x.counts) AS median,
  percentile_cont(0.9) WITHIN GROUP (ORDER BY x.took) FILTER (WHERE x.counts) AS p90
FROM ({decided}) x GROUP BY GROUPING SETS ((x.at, x.verdict), (x.at), (x.person), ())

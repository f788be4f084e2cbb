-- due -- Workspaces with days behind those whose decisions are added up, and how far they can be.
SELECT w.id, y.day FROM gp_workspace w CROSS JOIN (SELECT ((clock_timestamp()
  - make_interval(secs => %(settled)s)) AT TIME ZONE 'UTC')::date AS day) y
LEFT JOIN gp_decided_until u ON u.workspace_id = w.id
WHERE {not_set_aside} AND (u.day IS NULL OR u.day < y.day) ORDER BY w.id LIMIT %(limit)s

-- begin -- A workspace's first day: that of its first decision, if it has any.
INSERT INTO gp_decided_until (workspace_id, day)
SELECT %(workspace)s::uuid, coalesce((SELECT (min(d.at) AT TIME ZONE 'UTC')::date FROM gp_decision d
  WHERE d.workspace_id = %(workspace)s::uuid), %(day)s::date) ON CONFLICT DO NOTHING

-- hold -- The days to add up now, from one until before another, if no other process is at it.
SELECT u.day::timestamp AT TIME ZONE 'UTC',
  least(u.day + %(most)s::int, %(day)s::date)::timestamp AT TIME ZONE 'UTC' FROM gp_decided_until u
WHERE u.workspace_id = %(workspace)s::uuid FOR UPDATE SKIP LOCKED

-- fold -- Write the decisions of the days from there on.
INSERT INTO gp_decided_day (workspace_id, day, agent, verdict, person, name, n, waits)
SELECT %(workspace)s::uuid, (y.at AT TIME ZONE 'UTC')::date, y.agent, y.verdict, y.person, y.name,
  y.n, y.waits FROM ({counted}) y

-- note -- Note up to when decisions are added up.
UPDATE gp_decided_until SET day = greatest(day, (%(high)s::timestamptz AT TIME ZONE 'UTC')::date)
WHERE workspace_id = %(workspace)s::uuid

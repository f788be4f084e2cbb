-- due -- Days of workspaces to add up: new ones first, then those added up longest ago.
SELECT w.id, d.day::date
FROM (SELECT (clock_timestamp() - make_interval(secs => %(settled)s)) AT TIME ZONE 'UTC' AS now) c
CROSS JOIN gp_workspace w
CROSS JOIN LATERAL generate_series(date_trunc('day', c.now) - make_interval(days => %(stored)s),
  date_trunc('day', c.now) - interval '1 day', interval '1 day') AS d (day)
LEFT JOIN gp_folded_day f ON f.workspace_id = w.id AND f.day = d.day::date
WHERE {not_set_aside} AND (f.day IS NULL OR (d.day >= c.now - make_interval(days => %(renewed_days)s)
  AND f.folded_at < clock_timestamp() - make_interval(secs => %(renewed)s)))
ORDER BY f.folded_at NULLS FIRST, d.day LIMIT %(limit)s

-- forget -- Drop the figures of a day.
DELETE FROM gp_day_figure WHERE workspace_id = %(workspace)s::uuid AND day = %(day)s::date

-- fold -- Write the figures of a day.
INSERT INTO gp_day_figure (workspace_id, day, figure, agent, name, team, n, tokens, cost)
SELECT %(workspace)s::uuid, %(day)s::date, y.figure, y.agent, y.name, y.team, y.n, y.tokens, y.cost
FROM ({counted}) y

-- note -- Note that a day is added up.
INSERT INTO gp_folded_day (workspace_id, day, folded_at)
VALUES (%(workspace)s::uuid, %(day)s::date, clock_timestamp())
ON CONFLICT (workspace_id, day) DO UPDATE SET folded_at = EXCLUDED.folded_at

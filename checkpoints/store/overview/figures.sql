-- due -- Hours and days of workspaces to add up: new ones, then changed ones, then the longest ago.
-- Hours are those of yesterday and today; one that changed may also be of former days. None before
-- the first thing that counts: a new workspace has nothing to add up.
WITH c AS (SELECT clock_timestamp() - make_interval(secs => %(settled)s) AS now), u AS (
  SELECT w.id, s.unit, s.at FROM c CROSS JOIN gp_workspace w
  CROSS JOIN LATERAL ({first}) first CROSS JOIN LATERAL (
    SELECT 'day' AS unit, d.at FROM generate_series(date_trunc('day', c.now, 'UTC')
      - make_interval(days => %(stored)s), c.now, interval '1 day', 'UTC') AS d (at)
    UNION ALL
    SELECT 'hour', h.at FROM generate_series(date_trunc('day', c.now, 'UTC') - interval '1 day',
      c.now, interval '1 hour') AS h (at)) s
  WHERE s.at >= date_trunc(s.unit, first.at, 'UTC')
  UNION
  SELECT x.workspace_id, x.unit, x.at FROM gp_figure_change x)
SELECT u.id, u.unit, u.at FROM c CROSS JOIN u
LEFT JOIN gp_folded_unit f ON f.workspace_id = u.id AND f.unit = u.unit AND f.at = u.at
CROSS JOIN LATERAL (SELECT EXISTS (SELECT 1 FROM gp_figure_change x WHERE x.workspace_id = u.id
  AND x.unit = u.unit AND x.at = u.at) AS changed) x
WHERE {not_set_aside} AND u.at <= c.now - ('1 ' || u.unit)::interval
  AND (f.at IS NULL OR x.changed OR (u.at >= c.now - make_interval(days => %(renewed_days)s)
    AND f.folded_at < clock_timestamp() - make_interval(secs => %(renewed)s)))
ORDER BY f.at IS NOT NULL, NOT x.changed, f.folded_at, u.at DESC LIMIT %(limit)s

-- forget_changes -- Take the notes of what changed; what changes from here on is noted anew.
DELETE FROM gp_figure_change WHERE workspace_id = %(workspace)s::uuid AND unit = %(unit)s::text
  AND at = %(low)s::timestamptz

-- forget -- Drop the figures of an hour or a day; with a day's those of hours before it.
DELETE FROM gp_figure WHERE workspace_id = %(workspace)s::uuid
  AND (unit = %(unit)s::text AND at = %(low)s::timestamptz OR %(unit)s::text = 'day' AND unit = 'hour' AND at < %(low)s::timestamptz)

-- forget_hours -- With a day's figures, drop the notes which hours before it are added up.
DELETE FROM gp_folded_unit WHERE workspace_id = %(workspace)s::uuid AND unit = 'hour'
  AND %(unit)s::text = 'day' AND at < %(low)s::timestamptz

-- fold -- Write the figures of an hour or a day.
INSERT INTO gp_figure (workspace_id, unit, at, figure, agent, name, team, n, tokens, cost)
SELECT %(workspace)s::uuid, %(unit)s::text, y.at, y.figure, y.agent, y.name, y.team, y.n, y.tokens, y.cost
FROM ({counted}) y

-- note -- Note that an hour or a day is added up.
INSERT INTO gp_folded_unit (workspace_id, unit, at, folded_at)
VALUES (%(workspace)s::uuid, %(unit)s::text, %(low)s::timestamptz, clock_timestamp())
ON CONFLICT (workspace_id, unit, at) DO UPDATE SET folded_at = EXCLUDED.folded_at

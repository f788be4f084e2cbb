-- ended -- Threads that ended in a range of time and stand so now, each with its cost and team.
SELECT th.id, th.status, th.parent IS NOT NULL AS is_child, th.status_since AS at, th.agent, th.branch, th.branch_start, th.step,
  CASE WHEN th.status = 'failed' THEN coalesce(th.next_nodes ->> 0, '') ELSE '' END AS name,
  left(coalesce(th.labels ->> 'team', ''), 200) AS team, th.tokens, th.cost
FROM gp_thread th WHERE th.workspace_id = %(workspace)s::uuid
  AND th.status IN ('succeeded', 'failed', 'cancelled')
  AND th.status_since >= %(low)s::timestamptz AND th.status_since < %(high)s::timestamptz
  AND (%(agent)s::text = '' OR th.agent = %(agent)s::text)

-- way -- Of those that were rolled back, the branches on the way to the head, each up to its last step.
SELECT e.id, e.branch, e.branch_start AS low, e.step + 1 AS top FROM ended e WHERE e.branch > 0
UNION ALL
SELECT s.id, p.branch, p.branch_start, p.step FROM way s
JOIN gp_checkpoint f ON f.thread_id = s.id AND f.number = s.low
JOIN gp_checkpoint p ON p.thread_id = s.id AND p.number = f.parent_number
WHERE f.parent_thread = s.id

-- calls -- What calls cost in a range of time, also without a price, and turns of ephemeral threads.
SELECT a.thread_id, a.finished_at AS at, left(coalesce(a.usage ->> 'model', a.tool), 200) AS name,
  a.usage FROM gp_activity a
WHERE a.workspace_id = %(workspace)s::uuid AND (a.usage ? 'cost' OR a.usage ? 'tokens')
  AND a.finished_at >= %(low)s::timestamptz AND a.finished_at < %(high)s::timestamptz
UNION ALL
SELECT x.thread_id, x.at, left(coalesce(x.data -> 'usage' ->> 'model', ''), 200), x.data -> 'usage'
FROM gp_event x WHERE {turns} AND x.workspace_id = %(workspace)s::uuid
  AND x.at >= %(low)s::timestamptz AND x.at < %(high)s::timestamptz

-- spent -- What calls cost by model, agent and team, at the time of their end.
SELECT c.at, 'spent' AS figure, th.agent, c.name,
  left(coalesce(th.labels ->> 'team', ''), 200) AS team, 1 AS n,
  coalesce((c.usage ->> 'tokens')::bigint, 0) AS tokens,
  coalesce((c.usage ->> 'cost')::numeric, 0) AS cost
FROM ({calls}) c JOIN gp_thread th ON th.id = c.thread_id
WHERE %(agent)s::text = '' OR th.agent = %(agent)s::text

-- every -- Each thing that counts in a range of time: when, which figure, of whom, how much.
-- Threads that others started count as figures of their own: a fan-out is no hundred of threads.
WITH RECURSIVE ended AS ({ended}), way AS ({way})
SELECT th.created_at AS at,
  CASE WHEN th.parent IS NULL THEN 'started' ELSE 'child_started' END AS figure, th.agent, '' AS name,
  left(coalesce(th.labels ->> 'team', ''), 200) AS team, 1 AS n, 0::bigint AS tokens,
  0::numeric AS cost
FROM gp_thread th WHERE th.workspace_id = %(workspace)s::uuid
  AND th.created_at >= %(low)s::timestamptz AND th.created_at < %(high)s::timestamptz
  AND (%(agent)s::text = '' OR th.agent = %(agent)s::text)
UNION ALL
SELECT e.at, CASE WHEN e.is_child THEN 'child_' ELSE '' END || e.status, e.agent, e.name, e.team, 1,
  e.tokens, e.cost
FROM ended e
UNION ALL
SELECT e.at, 'rolled_back', e.agent, '', e.team, 1, coalesce((a.usage ->> 'tokens')::bigint, 0),
  coalesce((a.usage ->> 'cost')::numeric, 0)
FROM ended e JOIN gp_activity a ON a.thread_id = e.id
WHERE e.branch > 0 AND e.status = 'succeeded' AND (a.usage ? 'cost' OR a.usage ? 'tokens')
  AND NOT EXISTS (SELECT 1 FROM way s
    WHERE s.id = a.thread_id AND s.branch = a.branch AND a.step <= s.top)
UNION ALL {spent}
UNION ALL
SELECT e.at, 'saved', th.agent, '', left(coalesce(th.labels ->> 'team', ''), 200), 1,
  coalesce((e.data -> 'saved' ->> 'tokens')::bigint, 0),
  coalesce((e.data -> 'saved' ->> 'cost')::numeric, 0)
FROM gp_event e JOIN gp_thread th ON th.id = e.thread_id
WHERE e.workspace_id = %(workspace)s::uuid AND e.kind IN ('lease.taken_over', 'thread.retried')
  AND e.at >= %(low)s::timestamptz AND e.at < %(high)s::timestamptz AND e.data ? 'saved'
  AND (%(agent)s::text = '' OR th.agent = %(agent)s::text)

-- counted -- The figures of a range of time by hour or day, agent, name and team.
SELECT date_trunc(%(unit)s, x.at, 'UTC') AS at, x.figure, x.agent, x.name, x.team,
  sum(x.n)::bigint AS n, sum(x.tokens)::bigint AS tokens, sum(x.cost) AS cost
FROM ({every}) x GROUP BY 1, 2, 3, 4, 5

-- first -- When the earliest of all that counts in a workspace (w) happened; five looks at indexes.
-- Hours and days before it have no figures. What is brought in later from before it moves it.
SELECT least(
  (SELECT min(th.created_at) FROM gp_thread th WHERE th.workspace_id = w.id),
  (SELECT min(th.status_since) FROM gp_thread th WHERE th.workspace_id = w.id),
  (SELECT min(a.finished_at) FROM gp_activity a
    WHERE a.workspace_id = w.id AND (a.usage ? 'cost' OR a.usage ? 'tokens')),
  (SELECT min(x.at) FROM gp_event x WHERE {turns} AND x.workspace_id = w.id),
  (SELECT min(e.at) FROM gp_event e
    WHERE e.workspace_id = w.id AND e.kind IN ('lease.taken_over', 'thread.retried'))) AS at

-- unfolded_day -- The first day of a range that is not added up yet, or its end; its beginning by hour.
SELECT CASE %(unit)s::text WHEN 'hour' THEN %(low)s::timestamptz ELSE coalesce((SELECT min(d.at) FROM (
  SELECT generate_series(%(low)s::timestamptz, %(high)s::timestamptz - interval '1 microsecond',
    interval '1 day', 'UTC') AS at
  EXCEPT SELECT f.at FROM gp_folded_unit f WHERE f.workspace_id = %(workspace)s::uuid
    AND f.unit = 'day' AND f.at >= %(low)s::timestamptz) d
  WHERE d.at >= date_trunc('day', first.at, 'UTC')), %(high)s::timestamptz) END

-- unfolded_hour -- The first hour behind these days that is not added up as it now is, or the end.
SELECT coalesce((SELECT min(h.at) FROM (
  SELECT generate_series(day.until, %(high)s::timestamptz - interval '1 microsecond',
    interval '1 hour') AS at
  EXCEPT (SELECT f.at FROM gp_folded_unit f WHERE f.workspace_id = %(workspace)s::uuid
      AND f.unit = 'hour' AND f.at >= day.until
    EXCEPT SELECT x.at FROM gp_figure_change x WHERE x.workspace_id = %(workspace)s::uuid
      AND x.unit = 'hour' AND x.at >= day.until)) h
  WHERE h.at >= date_trunc('hour', first.at, 'UTC')), %(high)s::timestamptz)

-- first_of_one -- The same of the workspace that is asked for.
SELECT y.at FROM (SELECT %(workspace)s::uuid AS id) w CROSS JOIN LATERAL ({first}) y

-- folded -- Up to when a range is added up by days, then by hours; the figures up to there, if any.
WITH first AS MATERIALIZED ({first_of_one}),
day AS MATERIALIZED (SELECT ({unfolded_day}) AS until FROM first),
hour AS MATERIALIZED (SELECT ({unfolded_hour}) AS until FROM day CROSS JOIN first)
SELECT hour.until, date_trunc(%(unit)s::text, f.at, 'UTC') AS at, f.figure, f.agent, f.name, f.team,
  sum(f.n)::bigint AS n, sum(f.tokens)::bigint AS tokens, sum(f.cost) AS cost
FROM day CROSS JOIN hour LEFT JOIN LATERAL (
  SELECT * FROM gp_figure d WHERE d.workspace_id = %(workspace)s::uuid AND d.unit = 'day'
    AND d.at >= %(low)s::timestamptz AND d.at < day.until
  UNION ALL
  SELECT * FROM gp_figure h WHERE h.workspace_id = %(workspace)s::uuid AND h.unit = 'hour'
    AND h.at >= day.until AND h.at < hour.until) f
  ON (%(agent)s::text = '' OR f.agent = %(agent)s::text)
  AND (%(figure)s::text = '' OR f.figure = %(figure)s::text)
GROUP BY 1, 2, 3, 4, 5, 6

-- spent_between -- What was spent in a range of time by agent and team.
SELECT x.agent, x.team, sum(x.tokens)::bigint AS tokens, sum(x.cost) AS cost FROM ({spent}) x
GROUP BY 1, 2

-- load -- Threads at work and queued, without children and with them, up to a cap; oldest since when.
-- By indexes alone where no agent is chosen: one has those that no other thread started.
SELECT s.status, own.n AS own, whole.n AS whole, (
  SELECT th.status_since FROM gp_thread th WHERE th.workspace_id = %(workspace)s::uuid
  AND th.status = s.status AND (%(agent)s::text = '' OR th.agent = %(agent)s::text)
  ORDER BY th.status_since, th.id LIMIT 1) AS oldest
FROM (VALUES ('running'), ('queued')) AS s (status)
CROSS JOIN LATERAL (SELECT count(*) AS n FROM (SELECT 1 FROM gp_thread th
  WHERE th.workspace_id = %(workspace)s::uuid AND th.status = s.status AND {top}
  AND (%(agent)s::text = '' OR th.agent = %(agent)s::text)
  ORDER BY th.status_since DESC, th.id DESC LIMIT %(most)s) x) own
CROSS JOIN LATERAL (SELECT count(*) AS n FROM (SELECT 1 FROM gp_thread th
  WHERE th.workspace_id = %(workspace)s::uuid AND th.status = s.status
  AND (%(agent)s::text = '' OR th.agent = %(agent)s::text)
  ORDER BY th.status_since DESC, th.id DESC LIMIT 2 * %(most)s) x) whole

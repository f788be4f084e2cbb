-- note_brought_in -- Note the days, and hours of yesterday and today, of a thread from elsewhere.
INSERT INTO gp_figure_change (workspace_id, unit, at, id)
SELECT DISTINCT ON (y.unit, y.at) %(workspace)s::uuid, y.unit, y.at, gen_random_uuid() FROM (
  SELECT u.unit, date_trunc(u.unit, s.at, 'UTC') AS at FROM (
    SELECT unnest(ARRAY[th.created_at, th.status_since]) AS at FROM gp_thread th
    WHERE th.id = %(thread)s::uuid
    UNION SELECT a.finished_at FROM gp_activity a WHERE a.thread_id = %(thread)s::uuid
      AND (a.usage ? 'cost' OR a.usage ? 'tokens')
    UNION SELECT x.at FROM gp_event x WHERE x.thread_id = %(thread)s::uuid
      AND ({turns} OR x.kind IN ('lease.taken_over', 'thread.retried'))) s
  CROSS JOIN (VALUES ('hour'), ('day')) AS u (unit)) y
WHERE y.unit = 'day' AND y.at IS NOT NULL
  OR y.at >= date_trunc('day', clock_timestamp(), 'UTC') - interval '1 day'

-- statuses -- Threads per status, counted up to a limit in each workspace.
-- In the order of their indexes: otherwise the planner hopes to meet enough of them sooner by
-- reading the whole table, which is so only while they are many.
SELECT s.status, coalesce(sum(counted.n), 0)::bigint AS threads FROM unnest(%s::text[]) AS s(status)
LEFT JOIN (SELECT id FROM gp_workspace ORDER BY id LIMIT %s) w ON true
LEFT JOIN LATERAL (SELECT count(*) AS n FROM (SELECT 1 FROM gp_thread th
  WHERE th.workspace_id = w.id AND th.status = s.status
  ORDER BY th.status_since DESC, th.id DESC LIMIT %s) x) counted ON true
GROUP BY s.status

-- queues -- Queued threads per queue, the age of the oldest one, and how many a worker has begun.
-- Those come by workspace and status: along the index of a queue they lie among all its queued ones.
WITH working AS MATERIALIZED (SELECT th.queue, count(*) AS n
  FROM (SELECT id FROM gp_workspace ORDER BY id LIMIT %s) w
  CROSS JOIN unnest(ARRAY['running', 'rolling_back']) s(status)
  CROSS JOIN LATERAL (SELECT queue FROM gp_thread WHERE workspace_id = w.id AND status = s.status
    ORDER BY status_since DESC, id DESC LIMIT %s) th
  GROUP BY th.queue)
SELECT q.queue, (SELECT count(*) FROM (SELECT 1 FROM gp_thread th
  WHERE th.queue = q.queue AND th.status = 'queued'
  ORDER BY th.status_since LIMIT %s) x) AS threads,
  coalesce((SELECT extract(epoch FROM clock_timestamp() - th.status_since)::float8
  FROM gp_thread th WHERE th.queue = q.queue AND th.status = 'queued'
  ORDER BY th.status_since LIMIT 1), 0) AS oldest_seconds,
  coalesce((SELECT n FROM working g WHERE g.queue = q.queue), 0) AS working
FROM (SELECT queue FROM gp_agent_version WHERE imported_into IS NULL
  UNION SELECT 'gatepost' ORDER BY 1 LIMIT %s) q

-- horizon -- Age of the oldest committed event that readers across threads cannot see yet.
-- They go by (xid8, id) and stay below every transaction that may still commit. What is committed
-- beyond that line is in its order on the index; the first of it waits longest.
SELECT coalesce((SELECT greatest(extract(epoch FROM clock_timestamp() - e.at)::float8, 0)
  FROM gp_event e WHERE e.xid8 >= pg_snapshot_xmin(pg_current_snapshot())
  ORDER BY e.xid8, e.thread_id, e.seq LIMIT 1), 0)

-- undrained -- Age of the oldest message that a working thread has not taken.
-- A thread that rests takes its messages when it continues, and one in a queue waits with the queue.
SELECT coalesce(max(greatest(extract(epoch FROM clock_timestamp() - news.since)::float8, 0)), 0)
FROM (SELECT th.id FROM gp_workspace ws JOIN LATERAL (SELECT id FROM gp_thread
  WHERE workspace_id = ws.id AND status = 'running'
  ORDER BY status_since DESC, id DESC LIMIT 10001) th ON true) running
JOIN LATERAL (SELECT min(w.created_at) AS since FROM gp_wake w
  WHERE w.thread_id = running.id AND w.kind IN ('input', 'message')) news ON news.since IS NOT NULL

-- damaged -- Threads and workspaces whose last verification failed.
SELECT (SELECT count(*) FROM (SELECT 1 FROM gp_verification WHERE NOT intact LIMIT 10001) k)
  + (SELECT count(*) FROM gp_workspace_verification WHERE NOT intact)

-- unverified -- Seconds since the last complete verification, of the workspace that waits longest.
-- A workspace that was never verified as a whole counts from its creation.
SELECT coalesce(max(extract(epoch FROM clock_timestamp()
  - coalesce(k.completed_at, w.created_at))::float8), 0)
FROM (SELECT id, created_at FROM gp_workspace ORDER BY id LIMIT {workspaces}) w
LEFT JOIN gp_workspace_verification k ON k.workspace_id = w.id

-- fleet -- Workers, slots and what the sweep and its readers are behind with.
SELECT (SELECT count(*) FROM gp_worker w WHERE w.stopped_at IS NULL AND w.seen_at > c.then
   AND w.{not_ahead} AND w.slots > 0) AS workers,
  (SELECT coalesce(sum(w.slots), 0)::bigint FROM gp_worker w
   WHERE w.stopped_at IS NULL AND w.seen_at > c.then AND w.{not_ahead}) AS slots,
  (SELECT greatest(extract(epoch FROM clock_timestamp() - d.until)::float8, 0)
   FROM gp_duty d WHERE d.name = 'sweep') AS unswept_seconds,
  coalesce((SELECT greatest(extract(epoch FROM clock_timestamp() - th.wake_at)::float8, 0)
   FROM gp_thread th WHERE th.status = 'sleeping' ORDER BY th.wake_at LIMIT 1), 0)
   AS timer_late_seconds,
  ({horizon}) AS horizon_seconds, ({undrained}) AS undrained_seconds,
  (SELECT count(*) FROM (SELECT 1 FROM gp_set_aside LIMIT 10000) x) AS rows_set_aside,
  (SELECT coalesce(sum(w.messages_refused), 0)::bigint FROM gp_worker w) AS messages_refused,
  ({damaged}) AS damaged, ({unverified}) AS unverified_seconds
FROM (SELECT clock_timestamp() - make_interval(secs => %s) AS then) c

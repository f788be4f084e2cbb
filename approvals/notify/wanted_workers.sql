-- waiting -- Threads that wait for a worker in queues that no live one serves, where an endpoint wants to know.
-- By workspace and queue, each up to a limit. A pinned thread counts while its code is the newest of its agent:
-- a worker that is started now has that. Ids are of ephemeral threads, whose messages wait in memory.
WITH wanting AS MATERIALIZED (SELECT DISTINCT e.workspace_id FROM gp_endpoint e
  WHERE e.active AND jsonb_exists(e.events, 'workers.wanted')),
unserved AS MATERIALIZED (SELECT q.queue FROM (
    SELECT v.queue FROM gp_agent_version v WHERE v.imported_into IS NULL
    UNION SELECT n.queue FROM gp_agent_announcement n WHERE n.queue IS NOT NULL
    UNION SELECT 'gatepost') q
  WHERE q.queue <> '{external}' AND EXISTS (SELECT FROM wanting)
    AND NOT EXISTS (SELECT FROM gp_worker w WHERE w.stopped_at IS NULL AND w.queues ? q.queue
      AND w.seen_at > clock_timestamp() - make_interval(secs => %s) AND w.{not_ahead}))
SELECT w.workspace_id, u.queue, count(*) AS threads,
  greatest(extract(epoch FROM clock_timestamp() - min(n.since))::float8, 0) AS oldest_seconds
FROM unserved u CROSS JOIN wanting w CROSS JOIN LATERAL (
  (SELECT th.id, th.status_since AS since FROM gp_thread th
   WHERE th.queue = u.queue AND th.status = 'queued' AND th.workspace_id = w.workspace_id
     AND (NOT th.pinned OR NOT EXISTS (SELECT FROM gp_agent_version mine, gp_agent_version newer
       WHERE mine.id = th.agent_version_id AND newer.agent = mine.agent
         AND newer.imported_into IS NULL AND newer.created_at > mine.created_at))
     AND NOT EXISTS ({stopped_by})
   ORDER BY th.status_since LIMIT %s)
  UNION ALL
  (SELECT th.id, coalesce(th.lease_until, th.status_since) FROM gp_thread th
   WHERE th.queue = u.queue AND th.status IN ('running', 'rolling_back')
     AND th.workspace_id = w.workspace_id
     AND (th.lease_until < clock_timestamp() OR (th.lease_token IS NULL
       AND (th.wake_at IS NULL OR th.wake_at <= clock_timestamp())))
     AND NOT EXISTS ({stopped_by})
   LIMIT %s)
  UNION ALL
  (SELECT th.id, clock_timestamp() FROM gp_thread th
   WHERE th.id = ANY(%s::uuid[]) AND th.queue = u.queue AND th.workspace_id = w.workspace_id
     AND th.status NOT IN ('queued', 'running', 'rolling_back'))
) n
GROUP BY w.workspace_id, u.queue
ORDER BY oldest_seconds DESC

-- open_count -- How many requests of a workspace wait for somebody, counted up to a limit.
SELECT count(*) AS n FROM (SELECT FROM gp_approval
  WHERE workspace_id = %s::uuid AND status = 'pending' LIMIT %s) x

-- overdue -- How many open requests of all workspaces passed their deadline some time ago.
SELECT count(*) AS n FROM (SELECT FROM gp_approval WHERE status = 'pending'
  AND deadline < clock_timestamp() - make_interval(secs => %s) LIMIT 1000) x

-- inbox_mark -- The time in microseconds and figures that change when the inbox does.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now,
  (SELECT max(requested_at) FROM gp_approval WHERE workspace_id = %(workspace)s::uuid) AS requested,
  (SELECT max(at) FROM gp_decision WHERE workspace_id = %(workspace)s::uuid) AS decided,
  count(*) AS n, sum(hashtextextended(concat(id, standing_hash, decide_by), 0)) AS total
FROM (SELECT id, standing_hash, decide_by FROM gp_approval
  WHERE workspace_id = %(workspace)s::uuid AND status = 'pending' LIMIT 1000) x

-- open_ids -- The first open requests of a workspace, by age.
SELECT id FROM gp_approval WHERE workspace_id = %s::uuid AND status = 'pending'
ORDER BY requested_at, id LIMIT 1000

-- first_open -- The oldest open request of each of these threads that has one.
SELECT DISTINCT ON (thread_id) thread_id AS thread, id FROM gp_approval
WHERE thread_id = ANY(%s::uuid[]) AND status = 'pending' ORDER BY thread_id, requested_at, id

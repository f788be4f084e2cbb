-- learn -- Usual times of an agent's nodes, from the newest events of its newest threads in each workspace.
-- A step is timed from its lease, or from the checkpoint before it, to its own checkpoint. The longest
-- of each node is left out: of twenty quick steps, one that hung for hours made an hour usual.
WITH sample AS (
  SELECT w.id AS workspace_id, th.id, th.last_seq FROM gp_workspace w
  CROSS JOIN unnest(%(statuses)s::text[]) AS s(status)
  CROSS JOIN LATERAL (SELECT t.id, t.last_seq FROM gp_thread t WHERE t.workspace_id = w.id
    AND t.agent = %(agent)s::varchar AND t.status = s.status
    ORDER BY t.status_since DESC, t.id DESC LIMIT %(threads)s) th
), log AS (
  SELECT s.workspace_id, e.thread_id, e.kind, e.at, e.data,
    lag(e.at) OVER w AS before, lag(e.kind) OVER w AS kind_before
  FROM sample s JOIN gp_event e ON e.thread_id = s.id AND e.seq > s.last_seq - %(events)s
  WHERE e.kind IN ('lease.acquired', 'lease.taken_over', 'checkpoint.committed',
    'thread.suspended', 'thread.slept', 'thread.handed_back', 'thread.paused', 'thread.failed',
    'thread.parked', 'approval.requested', 'approval.decided')
  WINDOW w AS (PARTITION BY e.thread_id ORDER BY e.seq)
), timed AS (
  SELECT workspace_id, n.node, extract(epoch FROM at - before)::float8 AS took,
    row_number() OVER (PARTITION BY workspace_id, n.node ORDER BY at - before) AS place,
    count(*) OVER (PARTITION BY workspace_id, n.node) AS n
  FROM log CROSS JOIN LATERAL jsonb_array_elements_text(data -> 'nodes') AS n(node)
  WHERE kind = 'checkpoint.committed' AND jsonb_typeof(data -> 'nodes') = 'array'
    AND kind_before IN ('lease.acquired', 'lease.taken_over', 'checkpoint.committed')
), steps AS (
  SELECT workspace_id, node, count(*) AS n_steps, percentile_cont(ARRAY[0.5, 0.95])
    WITHIN GROUP (ORDER BY took) FILTER (WHERE place < greatest(n, 2)) AS times
  FROM timed GROUP BY workspace_id, node
), requests AS (
  SELECT workspace_id, max(data ->> 'node') AS node,
    min(at) FILTER (WHERE kind = 'approval.decided')
      - min(at) FILTER (WHERE kind = 'approval.requested') AS wait
  FROM log WHERE kind IN ('approval.requested', 'approval.decided')
  GROUP BY workspace_id, thread_id, data ->> 'approval'
), waited AS (
  SELECT workspace_id, node, extract(epoch FROM wait)::float8 AS took,
    row_number() OVER (PARTITION BY workspace_id, node ORDER BY wait) AS place,
    count(*) OVER (PARTITION BY workspace_id, node) AS n
  FROM requests WHERE wait IS NOT NULL AND node IS NOT NULL
), waits AS (
  SELECT workspace_id, node, count(*) AS n_waits, percentile_cont(ARRAY[0.5, 0.95])
    WITHIN GROUP (ORDER BY took) FILTER (WHERE place < greatest(n, 2)) AS times
  FROM waited GROUP BY workspace_id, node
)
INSERT INTO gp_node_time (workspace_id, agent, node, n_steps, step_p50, step_p95, n_waits,
  wait_p50, wait_p95)
SELECT workspace_id, %(agent)s::varchar, node, coalesce(s.n_steps, 0), s.times[1], s.times[2],
  coalesce(w.n_waits, 0), w.times[1], w.times[2]
FROM steps s FULL JOIN waits w USING (workspace_id, node)
ON CONFLICT (workspace_id, agent, node) DO UPDATE SET n_steps = EXCLUDED.n_steps,
  step_p50 = EXCLUDED.step_p50, step_p95 = EXCLUDED.step_p95, n_waits = EXCLUDED.n_waits,
  wait_p50 = EXCLUDED.wait_p50, wait_p95 = EXCLUDED.wait_p95, learned_at = clock_timestamp()

-- silent -- Threads queued or at work that have recorded nothing for longer than their node allows.
-- A rollback works on no node. One that waits for its next attempt is not late before that.
SELECT th.id, th.workspace_id, th.agent, s.node, th.status_since, th.last_seq, s.since,
  CASE WHEN th.status = 'queued' THEN 'queue'
    WHEN th.lease_until < s.now - make_interval(secs => %(floor)s) THEN 'lease'
    ELSE 'silent' END AS rule,
  CASE WHEN s.learned THEN t.step_p95 END AS usual
FROM gp_thread th
LEFT JOIN gp_node_time t ON t.workspace_id = th.workspace_id AND t.agent = th.agent
  AND t.node = th.next_nodes ->> 0
CROSS JOIN LATERAL (SELECT clock_timestamp() AS now, coalesce(th.next_nodes ->> 0, '') AS node,
  greatest(th.status_since, th.last_at, th.wake_at) AS since,
  th.status = 'running' AND coalesce(t.n_steps, 0) >= %(enough)s AS learned) s
WHERE th.status IN ('queued', 'running', 'rolling_back')
  AND s.since < s.now - make_interval(secs => CASE
    WHEN th.status <> 'queued' AND th.lease_until < s.now - make_interval(secs => %(floor)s)
      THEN %(floor)s
    WHEN s.learned THEN greatest(%(floor)s, %(factor)s * t.step_p95)
    ELSE %(unknown)s END)
  AND NOT EXISTS (SELECT 1 FROM gp_stuck n WHERE n.thread_id = th.id AND n.rule <> 'repeats'
    AND n.status_since = th.status_since AND n.last_seq = th.last_seq)
ORDER BY s.since LIMIT %(limit)s

-- waiting -- The next threads of a workspace that wait for people, longest first, and whether they are late.
-- Of several nodes of a step it is the one whose request is open: the others may have finished.
SELECT th.id, th.workspace_id, th.agent, coalesce(g.node, '') AS node,
  th.status_since, NULL::bigint AS last_seq, th.status_since AS since, 'person' AS rule,
  CASE WHEN t.n_waits >= %(enough)s THEN t.wait_p95 END AS usual,
  coalesce(th.waiting_on ->> 'kind', 'gate') = 'gate'
    AND th.status_since < clock_timestamp() - make_interval(secs => CASE
      WHEN t.n_waits >= %(enough)s THEN greatest(%(floor)s, %(factor)s * t.wait_p95)
      ELSE %(unknown)s END) AS late
FROM gp_thread th
CROSS JOIN LATERAL (SELECT CASE WHEN jsonb_array_length(th.next_nodes) < 2 THEN th.next_nodes ->> 0
  ELSE coalesce((SELECT r.data ->> 'node' FROM gp_event r
    WHERE r.thread_id = th.id AND r.kind = 'approval.requested' AND r.seq > th.last_seq - %(events)s
      AND NOT EXISTS (SELECT 1 FROM gp_event d WHERE d.thread_id = th.id AND d.seq > r.seq
        AND d.kind = 'approval.decided' AND d.data ->> 'approval' = r.data ->> 'approval')
    ORDER BY r.seq LIMIT 1), th.next_nodes ->> 0) END AS node) g
LEFT JOIN gp_node_time t ON t.workspace_id = th.workspace_id AND t.agent = th.agent
  AND t.node = g.node
WHERE th.workspace_id = %(workspace)s::uuid AND th.status = 'waiting'
  AND (th.status_since, th.id) > (%(after)s::timestamptz, %(after_id)s::uuid)
  AND th.status_since
    < (SELECT clock_timestamp() - make_interval(secs => least(%(floor)s, %(unknown)s)))
ORDER BY th.status_since, th.id LIMIT %(limit)s

-- repeated -- Threads that move and have called the same with the same arguments again and again.
-- Places of a fan-out are kept apart; calls with large arguments are left out.
SELECT th.id, th.workspace_id, th.agent, a.node, th.status_since, NULL::bigint AS last_seq,
  min(a.started_at) AS since, 'repeats' AS rule, NULL::float8 AS usual, a.tool, count(*) AS calls
FROM gp_thread th JOIN gp_activity a ON a.thread_id = th.id AND a.branch = th.branch
  AND a.step > th.step - %(steps)s
WHERE th.status IN ('queued', 'running')
  AND th.last_at > (SELECT clock_timestamp() - make_interval(secs => %(moved)s))
  AND a.kind IN ('activity', 'effect', 'model') AND pg_column_size(a.args) < %(bytes)s
GROUP BY th.id, a.node, a.index, a.tool, a.args HAVING count(*) >= %(calls)s
ORDER BY count(*) DESC LIMIT %(limit)s

-- note -- Note threads that are stuck; one that was noted by the same rule keeps its beginning.
INSERT INTO gp_stuck (thread_id, workspace_id, agent, node, rule, since, reason, status_since,
  last_seq)
SELECT * FROM unnest(%s::uuid[], %s::uuid[], %s::text[], %s::text[], %s::text[],
  %s::timestamptz[], %s::text[], %s::timestamptz[], %s::bigint[])
ON CONFLICT (thread_id) DO UPDATE SET agent = EXCLUDED.agent, node = EXCLUDED.node,
  rule = EXCLUDED.rule, reason = EXCLUDED.reason, status_since = EXCLUDED.status_since,
  last_seq = EXCLUDED.last_seq, noted_at = clock_timestamp(),
  since = CASE WHEN gp_stuck.rule = EXCLUDED.rule AND gp_stuck.last_seq IS NULL
    THEN least(gp_stuck.since, EXCLUDED.since) ELSE EXCLUDED.since END
WHERE (gp_stuck.rule, gp_stuck.status_since, gp_stuck.last_seq, gp_stuck.reason)
  IS DISTINCT FROM (EXCLUDED.rule, EXCLUDED.status_since, EXCLUDED.last_seq, EXCLUDED.reason)
RETURNING thread_id, workspace_id

-- forget -- Drop notes of threads that have moved; a repeated call is forgotten when nothing repeats it.
DELETE FROM gp_stuck n WHERE NOT EXISTS (SELECT 1 FROM gp_thread th WHERE th.id = n.thread_id
  AND th.status_since = n.status_since AND (n.last_seq IS NULL OR n.last_seq = th.last_seq))
  OR (n.rule = 'repeats' AND NOT n.thread_id = ANY(%s::uuid[])
    AND n.noted_at < clock_timestamp() - make_interval(secs => %s))

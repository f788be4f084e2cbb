-- calls_around -- The newest calls on the way to a checkpoint, and those of the step after it.
-- `later` are the latter: recorded since, before the next checkpoint. Long values stay where they
-- are; files that they refer to are named. A position has its newest revision.
{branches}
SELECT a.id, a.thread_id AS thread, a.branch, a.step, a.node, a.key, a.kind, a.tool, a.state,
  a.attempts, a.error, a.usage::text AS usage, a.started_at, a.finished_at, a.later,
  CASE WHEN length(a.result::text) <= %s THEN a.result::text END AS result,
  coalesce(octet_length(a.result::text), 0) AS result_bytes,
  CASE WHEN length(a.cursor::text) <= %s THEN a.cursor::text END AS cursor,
  coalesce(octet_length(a.cursor::text), 0) AS cursor_bytes,
  jsonb_path_query_array(jsonb_build_array(a.result, a.cursor),
    'strict $.** ? (exists (@."$artifact"))')::text AS files,
  a.args ->> 'model' AS asked_model, (a.args -> 'temperature')::text AS temperature,
  left(a.args ->> 'system', %s) AS system
FROM (SELECT * FROM seg ORDER BY depth LIMIT %s) s CROSS JOIN LATERAL (
  SELECT x.*, x.step > s.hi_step AS later FROM gp_activity x
  WHERE x.thread_id = s.thread_id AND x.branch = s.branch
  AND x.step <= s.hi_step + (s.depth = 0)::integer
  ORDER BY x.step DESC LIMIT %s
) a
WHERE a.kind IN ('activity', 'model', 'effect') AND NOT EXISTS (
  SELECT FROM gp_activity n WHERE (n.thread_id, n.branch, n.step, n.node, n.index, n.key)
  = (a.thread_id, a.branch, a.step, a.node, a.index, a.key) AND n.revision > a.revision)
ORDER BY s.depth, a.step DESC, a.started_at DESC, a.id DESC LIMIT %s

-- until -- For each branch on the way, the number of the event that its part of the way ends with.
-- By halves: a checkpoint has the time of its event, and no other event has it before.
SELECT s.*, (
  WITH RECURSIVE half (lo, hi) AS (
    SELECT 0::bigint, th.last_seq + 1 FROM gp_thread th WHERE th.id = s.thread_id
    UNION ALL
    SELECT CASE WHEN e.at <= c.created_at THEN e.seq ELSE h.lo END,
      CASE WHEN e.at <= c.created_at THEN h.hi ELSE e.seq END
    FROM half h JOIN gp_event e ON e.thread_id = s.thread_id AND e.seq = (h.lo + h.hi) / 2
    WHERE h.hi - h.lo > 1
  ) SELECT max(lo) FROM half
) AS seq
FROM (SELECT * FROM seg ORDER BY depth LIMIT %s) s
JOIN gp_checkpoint c ON c.thread_id = s.thread_id AND c.number = s.hi

-- thoughts_before -- The newest thoughts of nodes and models on the way to a checkpoint.
{branches}
SELECT e.thread_id AS thread, e.seq, e.kind, e.at, e.data ->> 'node' AS node,
  (e.data ->> 'step')::integer AS step, e.data ->> 'text' AS text,
  (e.data -> 'facts')::text AS facts
FROM ({until}) s CROSS JOIN LATERAL (
  SELECT * FROM gp_event x WHERE x.thread_id = s.thread_id AND x.seq <= s.seq
  ORDER BY x.seq DESC LIMIT %s
) e
WHERE e.kind = ANY(%s::text[]) AND (e.data ->> 'branch')::integer = s.branch
  AND (e.data ->> 'step')::integer <= s.hi_step
ORDER BY s.depth, e.seq DESC LIMIT %s

-- lease_before -- The lease under which a checkpoint was written: what its event says.
{branches}
SELECT e.data::text AS data, e.at
FROM ({until}) s CROSS JOIN LATERAL (
  SELECT * FROM gp_event x WHERE x.thread_id = s.thread_id AND x.seq <= s.seq
  ORDER BY x.seq DESC LIMIT %s
) e
WHERE e.kind = ANY(%s::text[])
ORDER BY s.depth, e.seq DESC LIMIT 1

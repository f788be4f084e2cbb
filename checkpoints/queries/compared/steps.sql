-- commits -- Where the log of a thread commits its checkpoints of a range of numbers.
SELECT coalesce(data -> 'checkpoint' ->> 'number', data ->> 'number')::integer AS number, seq
FROM gp_event
WHERE thread_id = %s::uuid
  AND kind IN ('checkpoint.committed', 'thread.started', 'thread.forked')
  AND seq > %s::bigint
  AND coalesce(data -> 'checkpoint' ->> 'number', data ->> 'number')::integer
    BETWEEN %s::integer AND %s::integer
ORDER BY seq

-- contents -- Events of a stretch of a log with what they name; what is large by its digest alone.
SELECT e.seq, e.kind, e.data::text, a.kind AS activity, a.index AS fan_out, a.state, a.error,
  CASE WHEN pg_column_size(a.args) > {large} THEN to_jsonb(md5(a.args::text)) ELSE a.args END::text
    AS args,
  CASE WHEN pg_column_size(a.result) > {large} THEN to_jsonb(md5(a.result::text)) ELSE a.result
    END::text AS result
FROM gp_event e
-- By id: OFFSET 0 keeps the planner off the index on thread_id. It chose that one while statistics
-- called the table nearly empty, and read all activities of the thread for every event.
LEFT JOIN LATERAL (
    SELECT * FROM gp_activity WHERE id = (e.data ->> 'activity')::uuid OFFSET 0
) a ON a.thread_id = e.thread_id
WHERE e.thread_id = %s::uuid AND e.seq > %s::bigint AND e.seq <= %s::bigint
  AND e.kind = ANY(%s::text[])
ORDER BY e.seq

-- checkpoints -- Checkpoints of a range of numbers with their deltas; large ones by their digest.
SELECT c.number, c.step, c.branch, c.source, c.nodes::text, c.next_nodes::text,
  CASE WHEN pg_column_size(c.delta) > {large} THEN to_jsonb(md5(c.delta::text)) ELSE c.delta
    END::text AS delta
FROM gp_checkpoint c
WHERE c.thread_id = %s::uuid AND c.number BETWEEN %s::integer AND %s::integer
ORDER BY c.number

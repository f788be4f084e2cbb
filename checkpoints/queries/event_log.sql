-- not_taken -- Messages and signals that a thread has received and not taken yet, some of either kind.
-- The number is read only from rows of these kinds: other news names other things.
SELECT x.kind, x.seq, x.message, x.name, x.value, x.actor, x.at, x.imported
FROM (VALUES ('input'), ('signal')) k (kind) CROSS JOIN LATERAL (
  SELECT w.kind, e.seq, (e.data -> 'message')::text AS message, e.data ->> 'signal' AS name,
    (e.data -> 'value')::text AS value, e.actor, e.at,
    e.seq <= (SELECT th.imported_seq FROM gp_thread th WHERE th.id = e.thread_id) AS imported
  FROM gp_wake w JOIN gp_event e ON e.thread_id = w.thread_id
    AND e.seq = CASE WHEN w.kind IN ('input', 'signal') THEN w.ref::bigint END
  WHERE w.thread_id = %s::uuid AND w.kind = k.kind
    AND (%s::text IS NULL OR e.data ->> 'signal' = %s::text)
  ORDER BY e.seq LIMIT %s) x
WHERE %s::text IS NULL OR k.kind = %s::text ORDER BY x.seq

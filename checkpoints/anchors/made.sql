-- newest -- The last anchor and where the next one begins in the feed of events.
SELECT a.number, a.hash, a.at, a.xid, a.thread_id, a.seq,
  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now,
  pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon
FROM (SELECT 1) one LEFT JOIN LATERAL (
  SELECT * FROM gp_anchor ORDER BY number DESC LIMIT 1) a ON true

-- moved -- The ends of threads that have events after a cursor, and the cursor behind the last.
-- No event of a transaction while an older one is open: a later commit would lie before the cursor.
WITH fed AS MATERIALIZED (
  SELECT x.xid8, x.thread_id, x.seq FROM gp_event x
  WHERE (x.xid8, x.thread_id, x.seq) > (%s::bigint::text::xid8, %s::uuid, %s::bigint)
    AND x.xid8 < pg_snapshot_xmin(pg_current_snapshot())
  ORDER BY x.xid8, x.thread_id, x.seq LIMIT %s),
last AS (SELECT f.xid8::text::bigint AS xid, f.thread_id, f.seq, (SELECT count(*) FROM fed) AS n
  FROM fed f ORDER BY f.xid8 DESC, f.thread_id DESC, f.seq DESC LIMIT 1)
SELECT e.thread_id AS id, th.chain_id AS chain, e.seq, encode(e.hash, 'hex') AS hash,
  last.xid AS last_xid, last.thread_id AS last_thread, last.seq AS last_seq, last.n
FROM (SELECT f.thread_id, max(f.seq) AS seq FROM fed f GROUP BY f.thread_id) m
JOIN gp_event e ON e.thread_id = m.thread_id AND e.seq = m.seq
JOIN gp_thread th ON th.id = m.thread_id CROSS JOIN last
ORDER BY e.thread_id

-- workspaces -- The ends of logs of workspaces whose row was written since a transaction, or all.
-- By transactions and not by time: a clock that stepped back would hide what moved meanwhile.
SELECT w.id, w.chain_id AS chain, w.last_seq AS seq, encode(w.last_hash, 'hex') AS hash
FROM gp_workspace w WHERE w.last_seq > 0 AND (%s::bigint = 0
  OR age(w.xmin) <= age((%s::bigint)::text::xid))
ORDER BY w.id

-- table -- The plan of the threads, each with a number.
CREATE UNLOGGED TABLE IF NOT EXISTS bench_thread (n bigint PRIMARY KEY, status text NOT NULL,
  kind text NOT NULL, id uuid NOT NULL, approval uuid NOT NULL, at timestamptz NOT NULL)

-- plan -- The threads to come, oldest first: `kind` says which events one has.
-- Of a thousand 858 are over, one in ten of these after a decision; 100 wait for one. Or all of
-- them wait (`waiting`), 100 for a decision and the others for a message. Numbers begin at `first`.
INSERT INTO bench_thread
SELECT %(first)s::bigint + n, p.status, p.kind,
  (lpad(to_hex((extract(epoch FROM p.at) * 1000)::bigint), 12, '0') || '7'
    || substr(md5(n::text), 1, 3) || '8' || substr(md5('i' || %(first)s::bigint + n), 1, 15))::uuid,
  md5('a' || %(first)s::bigint + n)::uuid, p.at
FROM (SELECT n, k.status, CASE WHEN %(waiting)s AND n %% 10 > 0 THEN 'working'
      WHEN k.status = 'waiting' THEN 'asking'
      WHEN k.status = 'succeeded' AND n %% 10 = 0 THEN 'decided'
      WHEN k.status IN ('succeeded', 'failed', 'cancelled') THEN 'over' ELSE 'working' END AS kind,
    date_trunc('milliseconds', clock_timestamp()) - interval '30 days'
      + n * (interval '30 days' / %(threads)s::float8) AS at
  FROM generate_series(0, %(threads)s::bigint - 1) n
  CROSS JOIN LATERAL (SELECT n * 7919 %% 1000 AS place) x
  CROSS JOIN LATERAL (SELECT CASE WHEN %(waiting)s OR place < 100
    THEN 'waiting' WHEN place < 120 THEN 'sleeping'
    WHEN place < 130 THEN 'paused' WHEN place < 135 THEN 'queued' WHEN place < 140 THEN 'running'
    WHEN place < 142 THEN 'attention' WHEN place < 157 THEN 'failed'
    WHEN place < 177 THEN 'cancelled' ELSE 'succeeded' END AS status) k) p

-- templates -- The events of one thread of each kind, made of those of two real ones.
CREATE UNLOGGED TABLE IF NOT EXISTS bench_event AS
WITH real AS (
  SELECT 'worked' AS of, seq, kind::text, actor::text, data FROM gp_event WHERE thread_id = %(worked)s
  UNION ALL SELECT kind::text, 0, kind::text, actor::text, data FROM gp_event
    WHERE thread_id = %(decided)s
), ended(kind, seq, of) AS (VALUES ('asking', 9, 'approval.requested'),
  ('asking', 10, 'thread.suspended'), ('decided', 7, 'approval.requested'),
  ('decided', 8, 'thread.suspended'), ('decided', 9, 'approval.decided'))
SELECT k.kind AS of, r.seq, r.kind, r.actor, r.data FROM real r
CROSS JOIN (VALUES ('asking', 8), ('decided', 6), ('over', 9), ('working', 10)) k(kind, upto)
WHERE r.of = 'worked' AND r.seq <= k.upto
UNION ALL SELECT e.kind, e.seq, r.kind, r.actor, r.data FROM ended e JOIN real r ON r.of = e.of
UNION ALL SELECT k.kind, 10, '', 'worker:1', '{}'::jsonb FROM (VALUES ('decided'), ('over')) k(kind)

-- threads -- Rows like the one of a real thread, from one number of the plan to another.
INSERT INTO gp_thread ({columns}) SELECT {values} FROM gp_thread a, bench_thread t
WHERE a.id = %(like)s AND t.n >= %(first)s AND t.n < %(last)s

-- events -- Their logs. Times and sizes are right, hashes are as long as real ones but no chain.
INSERT INTO gp_event (thread_id, workspace_id, seq, kind, v, actor, data, salt, data_hash, at,
  prev_hash, hash)
SELECT t.id, %(workspace)s, e.seq, coalesce(nullif(e.kind, ''), 'thread.' || t.status), 1, e.actor,
  CASE WHEN e.data ? 'approval' THEN e.data || jsonb_build_object('approval', t.approval, 'title',
    'Refund order ' || t.n) ELSE e.data END,
  decode(md5(t.n::text), 'hex'), sha256(uuid_send(t.id) || int8send(e.seq)),
  t.at + e.seq * interval '1 second', sha256(int8send(t.n * 10 + e.seq - 1)),
  sha256(int8send(t.n * 10 + e.seq))
FROM bench_thread t JOIN bench_event e ON e.of = t.kind
WHERE t.n >= %(first)s AND t.n < %(last)s ORDER BY t.n, e.seq

-- approvals -- Open requests of those that wait, settled ones of those that were decided.
INSERT INTO gp_approval ({columns}) SELECT {values} FROM gp_approval a, bench_thread t
WHERE a.id = %(like)s AND t.kind = %(kind)s AND t.n >= %(first)s AND t.n < %(last)s

-- decisions -- A verdict on each of the settled ones.
INSERT INTO gp_decision ({columns}) SELECT {values} FROM gp_decision a, bench_thread t
WHERE a.approval_id = %(like)s AND t.kind = 'decided' AND t.n >= %(first)s AND t.n < %(last)s

-- activities -- A priced call of each thread.
INSERT INTO gp_activity ({columns}) SELECT {values}
FROM (SELECT * FROM gp_activity WHERE thread_id = %(like)s ORDER BY id LIMIT 1) a, bench_thread t
WHERE t.n >= %(first)s AND t.n < %(last)s

-- indexes -- Indexes of some tables that are no constraints: name and statement.
SELECT c.relname, pg_get_indexdef(i.indexrelid) FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = ANY(%(tables)s::regclass[]) AND NOT i.indisunique

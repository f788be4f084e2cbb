-- ancestors -- Who started a thread, and who started that, the nearest first.
WITH RECURSIVE up AS (
  SELECT th.parent AS id, 1 AS n FROM gp_thread th WHERE th.id = %s::uuid
  UNION ALL
  SELECT th.parent, up.n + 1 FROM up JOIN gp_thread th ON th.id = up.id
  WHERE th.parent IS NOT NULL AND up.n < {levels})
SELECT {columns} FROM up JOIN gp_thread th ON th.id = up.id
WHERE th.workspace_id = %s::uuid ORDER BY up.n

-- fan_outs -- How many children a thread has of each agent in each status, up to n rows.
SELECT k.agent, k.status, count(*) AS n, sum(k.n_steps) AS steps, sum(k.tokens) AS tokens,
  sum(k.cost) AS cost, min(k.created_at) AS first_at, count(*) FILTER (WHERE k.held) AS held
FROM (SELECT th.agent, th.status, th.n_steps, th.tokens, th.cost, th.created_at,
    th.status = 'waiting' AND th.waiting_on ->> 'kind' = 'limit' AS held FROM gp_thread th
  WHERE th.parent = %s::uuid AND th.workspace_id = %s::uuid LIMIT {cap} + 1) k
GROUP BY k.agent, k.status

-- children -- Some children of a thread, a fair share of each agent, who needs a person first.
SELECT {columns}, (SELECT count(*) FROM (SELECT 1 FROM gp_thread b WHERE b.parent = th.id
  LIMIT {below} + 1) x) AS n_children
FROM (SELECT k.id, k.created_at, row_number() OVER (PARTITION BY k.agent
    ORDER BY array_position(%s::text[], k.status::text), k.created_at, k.id) AS place
  FROM (SELECT c.id, c.agent, c.status, c.created_at FROM gp_thread c
    WHERE c.parent = %s::uuid AND c.workspace_id = %s::uuid LIMIT {cap} + 1) k
  ORDER BY place, k.created_at, k.id LIMIT {listed}) x JOIN gp_thread th ON th.id = x.id
ORDER BY x.place, x.created_at, x.id

-- hand_offs -- Threads that continue from the last checkpoints of a thread in its place.
SELECT {columns} FROM gp_thread th
WHERE th.forked_from IN (SELECT c.id FROM gp_checkpoint c WHERE c.thread_id = %s::uuid
    ORDER BY c.number DESC LIMIT {ends})
  AND th.root IS NOT NULL AND th.workspace_id = %s::uuid
ORDER BY th.created_at DESC LIMIT {listed}

-- one -- A thread of the tree.
SELECT {columns} FROM gp_thread th WHERE th.id = %s::uuid AND th.workspace_id = %s::uuid

-- self -- The thread of a page; whether it has children, whether another one continues in its place.
SELECT {columns},
  EXISTS (SELECT 1 FROM gp_thread c WHERE c.parent = th.id) AS has_children,
  EXISTS (SELECT 1 FROM gp_thread h WHERE h.root IS NOT NULL AND h.forked_from IN (
    SELECT c.id FROM gp_checkpoint c WHERE c.thread_id = th.id
    ORDER BY c.number DESC LIMIT {ends})) AS has_heirs
FROM gp_thread th WHERE th.id = %s::uuid AND th.workspace_id = %s::uuid

-- totals -- Sums over all threads of a tree, up to n rows.
SELECT count(*) AS threads, sum(x.n_steps) AS steps, sum(x.tokens) AS tokens, sum(x.cost) AS cost
FROM ((SELECT th.n_steps, th.tokens, th.cost FROM gp_thread th WHERE th.id = %s::uuid)
  UNION ALL (SELECT th.n_steps, th.tokens, th.cost FROM gp_thread th WHERE th.root = %s::uuid
    LIMIT {cap})) x

-- mark -- The clock, how many threads a tree has, and what differs when one of them has moved.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS clock, count(*) AS n,
  sum(x.last_seq), max(x.status_since), max(me.last_seq)
FROM (SELECT th.id, coalesce(th.root, th.id) AS root, th.last_seq FROM gp_thread th
    WHERE th.id = %s::uuid AND th.workspace_id = %s::uuid) me,
  LATERAL ((SELECT r.last_seq, r.status_since FROM gp_thread r WHERE r.id = me.root)
    UNION ALL (SELECT t.last_seq, t.status_since FROM gp_thread t WHERE t.root = me.root
      LIMIT {cap})) x

-- awaited -- How the children stand that a thread waits for, by the number of the join.
SELECT k.awaited AS number, count(*) AS n, count(*) FILTER (WHERE k.outcome = '') AS open,
  count(*) FILTER (WHERE k.outcome = 'succeeded') AS succeeded
FROM (SELECT c.awaited, c.outcome FROM gp_child c
  WHERE c.parent = %s::uuid AND c.awaited IS NOT NULL) k
GROUP BY k.awaited ORDER BY k.awaited

-- awaited_statuses -- In which statuses those of them are that have not ended, up to n rows.
SELECT th.status, count(*) AS n, count(*) FILTER (WHERE th.waiting_on ->> 'kind' = 'limit') AS held
FROM (SELECT c.child_id FROM gp_child c WHERE c.parent = %s::uuid AND c.awaited IS NOT NULL
  AND c.outcome = '' LIMIT {cap}) k JOIN gp_thread th ON th.id = k.child_id
GROUP BY th.status

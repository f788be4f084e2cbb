-- standing -- Budget of a fork at its start and now, and what it and its children have spent.
SELECT f.data ->> 'budget' AS first, coalesce((SELECT e.data ->> 'budget' FROM gp_event e
    WHERE e.thread_id = th.id AND e.seq > 1 AND e.kind = 'thread.resumed' AND e.data ? 'budget'
    ORDER BY e.seq DESC LIMIT 1), f.data ->> 'budget') AS now,
  family.cost, family.tokens, th.n_steps AS steps
FROM gp_thread th
JOIN gp_event f ON f.thread_id = th.id AND f.seq = 1 AND f.data ? 'budget'
CROSS JOIN LATERAL (SELECT sum(x.cost) AS cost, sum(x.tokens)::bigint AS tokens
  FROM gp_thread x WHERE x.id = th.id OR x.root = th.id) family
WHERE th.id = %s::uuid

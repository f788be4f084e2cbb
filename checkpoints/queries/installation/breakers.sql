-- breakers -- Breakers of a workspace: the open ones, then those that were opened last.
SELECT {columns} FROM gp_breaker b WHERE b.workspace_id = %s::uuid
ORDER BY b.closed_at IS NOT NULL, b.opened_at DESC, b.id DESC LIMIT %s

-- breaker -- One breaker of a workspace.
SELECT {columns} FROM gp_breaker b WHERE b.workspace_id = %s::uuid AND b.id = %s::uuid

-- touched -- Unfinished threads of a selection by status, and of which agents elsewhere.
SELECT th.status, count(*), count(*) FILTER (WHERE th.queue = '{external}')
FROM gp_thread th, (SELECT %s::jsonb AS selection) b
WHERE th.workspace_id = %s::uuid AND th.status = ANY(%s::text[]) AND {selected}
GROUP BY th.status

-- progress -- Threads of each open breaker by status and part.
-- stopped: somebody could take it; at_work: a worker ends what it does; waits: for something else;
-- released: below the ordinal up to which it was released, and it continues or has moved since.
SELECT x.id, x.status, x.part, count(*) FROM (
  SELECT b.id, th.status, CASE
      WHEN {ordinal} < b.released_to THEN CASE WHEN {takeable}
        OR th.status IN ('running', 'rolling_back') OR th.status_since >= b.released_at
        THEN 'released' END
      WHEN {takeable} THEN 'stopped'
      WHEN th.status IN ('running', 'rolling_back') THEN 'at_work'
      WHEN th.status = ANY(%s::text[]) THEN 'waits' END AS part
  FROM gp_breaker b JOIN gp_thread th ON th.workspace_id = b.workspace_id AND {selected}
  WHERE b.workspace_id = %s::uuid AND b.closed_at IS NULL
    AND (th.status = ANY(%s::text[]) OR th.status_since >= b.released_at)) x
WHERE x.part IS NOT NULL GROUP BY x.id, x.status, x.part

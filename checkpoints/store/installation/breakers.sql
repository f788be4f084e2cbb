-- mark -- Let the workers of stopped threads give them back at their next boundary; returns them.
-- A locked row is left to the next round. A pause that a person wants stays what it is.
UPDATE gp_thread t SET wish = '{stop}', wish_by = m.breaker::text
FROM (SELECT th.id, b.id AS breaker FROM gp_breaker b JOIN gp_thread th ON {stops}
  WHERE th.status IN ('running', 'rolling_back') AND th.lease_token IS NOT NULL
    AND th.wish NOT IN ('pause', '{stop}')
  FOR NO KEY UPDATE OF th SKIP LOCKED) m
WHERE t.id = m.id

-- unmarked -- How many threads at work are stopped and not marked: their rows were locked.
SELECT count(*) FROM gp_breaker b JOIN gp_thread th ON {stops}
WHERE th.status IN ('running', 'rolling_back') AND th.lease_token IS NOT NULL
  AND th.wish NOT IN ('pause', '{stop}')

-- open -- Open a breaker.
INSERT INTO gp_breaker (id, workspace_id, selection, reason, opened_by, opened_at)
VALUES (%s::uuid, %s::uuid, %s::jsonb, %s::text, %s::varchar, clock_timestamp())

-- first -- (how many, the ordinal after the last) of the first of the due threads of one breaker.
SELECT count(*), coalesce(max(x.ordinal) + 1, 0) FROM (SELECT {ordinal} AS ordinal
  FROM gp_breaker b JOIN gp_thread th ON {stops}
  WHERE b.id = %s::uuid AND {takeable} ORDER BY 1 LIMIT %s) x

-- release -- Release threads up to an ordinal, or all.
UPDATE gp_breaker SET released_to = greatest(released_to, %s::bigint), releases = releases + 1,
  released_by = %s::varchar, released_at = clock_timestamp(),
  closed_at = CASE WHEN %s::boolean THEN clock_timestamp() END
WHERE id = %s::uuid AND closed_at IS NULL

-- going -- Released threads that a worker can take: (thread, queue), the longest waiting first.
SELECT th.id, th.queue FROM gp_breaker b JOIN gp_thread th
  ON th.workspace_id = b.workspace_id AND {selected}
WHERE b.id = %s::uuid AND (b.closed_at IS NOT NULL OR {ordinal} < b.released_to)
  AND {takeable} AND NOT EXISTS ({stopped_by})
ORDER BY th.status_since LIMIT %s

-- of_threads -- Answers that name one of these threads, or a request of it. What was answered about
-- erasure itself holds no content, and stays for who repeats the call.
FROM gp_idempotency_key k WHERE k.call NOT LIKE '%%/erasure%%' AND EXISTS (SELECT 1 FROM (
  SELECT i.id::text FROM ids i
  UNION ALL SELECT a.id::text FROM gp_approval a JOIN ids i ON i.id = a.thread_id) n
  WHERE strpos(k.call, n.id) > 0 OR strpos(k.answer, n.id) > 0 OR strpos(k.headers::text, n.id) > 0)

-- erase -- Delete the answers about a thread: (how many, characters).
WITH ids AS (SELECT %s::uuid AS id), gone AS (DELETE {of_threads} RETURNING length(k.answer) AS size)
SELECT count(*), coalesce(sum(gone.size), 0)::bigint FROM gone

-- count -- Count the answers about some threads: (how many, characters).
WITH ids AS (SELECT unnest(%s::uuid[]) AS id)
SELECT count(*), coalesce(sum(length(k.answer)), 0)::bigint {of_threads}

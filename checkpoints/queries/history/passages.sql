-- position -- The last event that is in the index, and whether another one can follow.
SELECT p.xid, p.thread_id, p.seq,
  p.xid > pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS is_ahead,
  EXISTS (SELECT 1 FROM (SELECT x.seq FROM gp_event x
    WHERE (x.xid8, x.thread_id, x.seq) > (p.xid::text::xid8, p.thread_id, p.seq)
    AND x.xid8 < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY x.xid8, x.thread_id, x.seq LIMIT 1) e) AS is_behind
FROM gp_index_position p WHERE p.name = 'history'

-- after -- Committed events behind a position, in an order that no later commit changes.
SELECT x.xid8, x.thread_id, x.seq, x.kind, x.actor, x.at, x.workspace_id, x.data FROM gp_event x
WHERE (x.xid8, x.thread_id, x.seq)
  > (%(xid)s::bigint::text::xid8, %(thread)s::uuid, %(seq)s::bigint)
AND x.xid8 < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY x.xid8, x.thread_id, x.seq LIMIT %(limit)s

-- named -- Events of a workspace by their threads and numbers.
SELECT x.xid8, x.thread_id, x.seq, x.kind, x.actor, x.at, x.workspace_id, x.data
FROM unnest(%(threads)s::uuid[], %(seqs)s::bigint[]) AS k (thread, seq)
JOIN gp_event x ON x.thread_id = k.thread AND x.seq = k.seq
WHERE x.workspace_id = %(workspace)s::uuid

-- unindexed -- The newest events of a scope that are behind the position of the index.
SELECT p.xid8, p.thread_id, p.seq, p.kind, p.actor, p.at, p.workspace_id, p.data FROM (
  SELECT x.*, th.agent FROM gp_event x JOIN gp_thread th ON th.id = x.thread_id
  WHERE (x.xid8, x.thread_id, x.seq) > (SELECT i.xid::text::xid8, i.thread_id, i.seq
    FROM gp_index_position i WHERE i.name = 'history')
  AND x.workspace_id = %(workspace)s::uuid) p
WHERE TRUE {scope}
ORDER BY p.xid8 DESC, p.thread_id DESC, p.seq DESC LIMIT %(limit)s

-- recorded -- Columns of an event and of all that it names: the changes of their checkpoint, their call's arguments and
-- result, and the thread. Of a thread that is erased or about to be, nothing is read.
SELECT e.xid8::text::bigint AS xid, e.thread_id AS thread, e.seq, e.kind, e.actor, e.at,
  e.workspace_id AS workspace, e.seq <= th.imported_seq AS imported, th.agent, th.title,
  CASE WHEN th.erasure IS NULL THEN e.data::text END AS data, c.number AS checkpoint,
  CASE WHEN th.erasure IS NULL THEN c.delta::text END AS delta, coalesce(a.tool, '') AS tool,
  coalesce(a.node, '') AS node, CASE WHEN th.erasure IS NULL THEN a.args::text END AS args,
  CASE WHEN th.erasure IS NULL AND e.kind <> 'effect.started' THEN a.result::text END AS result

-- joined -- The tables that they are read from, given events as `e`.
JOIN gp_thread th ON th.id = e.thread_id
LEFT JOIN gp_checkpoint c ON c.thread_id = e.thread_id AND c.id = CASE
  WHEN e.kind IN ('checkpoint.committed', 'thread.started', 'thread.forked')
  THEN coalesce(e.data #>> '{checkpoint,checkpoint}', e.data ->> 'checkpoint')::uuid END
LEFT JOIN gp_activity a ON a.thread_id = e.thread_id AND a.id = CASE
  WHEN e.kind = ANY(%(naming)s::text[]) THEN (e.data ->> 'activity')::uuid END

-- behind_position -- The next events for the index.
{recorded} FROM ({after}) e {joined} ORDER BY e.xid8, e.thread_id, e.seq

-- by_number -- Events of a workspace with all that they record.
{recorded} FROM ({named}) e {joined}

-- left -- Events of a scope that are not in the index, newest first, with all that they record.
{recorded} FROM ({unindexed}) e {joined} ORDER BY e.xid8 DESC, e.thread_id DESC, e.seq DESC

-- hashes -- The words of some texts as the index has them.
SELECT gp_word_hashes(b.body) AS words
FROM unnest(%(bodies)s::text[]) WITH ORDINALITY AS b (body, place) ORDER BY b.place

-- frequencies -- The events of a scope that have a word, each counted up to a cap.
SELECT w.place, h.hash, (SELECT count(*) FROM (SELECT 1 FROM gp_indexed_event p
  WHERE p.words @> ARRAY[h.hash] AND p.workspace_id = %(workspace)s::uuid {scope}
  LIMIT %(cap)s) s) AS n
FROM unnest(%(words)s::text[]) WITH ORDINALITY AS w (word, place)
CROSS JOIN LATERAL unnest(gp_word_hashes(w.word)) AS h (hash)

-- score -- The sum of the weights of the words that an event has.
SELECT p.thread_id AS thread, p.seq, (SELECT sum(q.weight) FROM
  unnest(%(hashes)s::integer[], %(weights)s::float8[]) AS q (hash, weight)
  WHERE q.hash = ANY(p.words)) AS score

-- having_any -- The events with the best score of those that have any of the rare words.
{score} FROM (SELECT p.thread_id, p.seq, p.at, p.words FROM gp_indexed_event p
  WHERE p.words && %(chosen)s::integer[] AND p.workspace_id = %(workspace)s::uuid {scope}
  LIMIT %(window)s) p
ORDER BY score DESC, p.at DESC, p.thread_id, p.seq DESC LIMIT %(limit)s

-- having_all -- The first events found that have all of the words: there is no rare one.
{score} FROM (SELECT p.thread_id, p.seq, p.at, p.words FROM gp_indexed_event p
  WHERE p.words @> %(chosen)s::integer[] AND p.workspace_id = %(workspace)s::uuid {scope}
  LIMIT %(window)s) p
ORDER BY score DESC, p.at DESC, p.thread_id, p.seq DESC LIMIT %(limit)s

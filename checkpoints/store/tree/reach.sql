-- reach_children -- News of a verb for the unfinished threads next below a thread. Of two verbs the
-- later one counts: its row takes a new place in their order.
WITH RECURSIVE down AS (
  SELECT th.id, th.status IN ('succeeded', 'failed', 'cancelled') AS ended FROM gp_thread th
  WHERE th.parent = %s::uuid AND (%s::uuid[] IS NULL OR th.id = ANY(%s::uuid[]))
  UNION ALL
  SELECT c.id, c.status IN ('succeeded', 'failed', 'cancelled')
  FROM down JOIN gp_thread c ON c.parent = down.id WHERE down.ended)
INSERT INTO gp_wake (thread_id, kind, ref) SELECT down.id, %s::varchar, %s::varchar FROM down
WHERE NOT down.ended ON CONFLICT (thread_id, kind, ref) DO UPDATE SET id = DEFAULT

-- look_again -- The second look at a thread that works on before it pauses.
INSERT INTO gp_wake (thread_id, kind, ref) SELECT th.id, %s::varchar, %s::varchar FROM gp_thread th
WHERE th.id = %s::uuid AND (th.status = 'running' AND th.wish = 'pause'
  OR th.pause_at <> '' AND th.status NOT IN ('paused', 'succeeded', 'failed', 'cancelled'))
ON CONFLICT (thread_id, kind, ref) DO UPDATE SET id = DEFAULT

-- reach_one -- News of a verb for one thread.
INSERT INTO gp_wake (thread_id, kind, ref) VALUES (%s::uuid, %s::varchar, %s::varchar)
ON CONFLICT (thread_id, kind, ref) DO UPDATE SET id = DEFAULT

-- move_pause -- The pause that was asked for while a thread (t) made its last step, for its
-- successor.
INSERT INTO gp_wake (thread_id, kind, ref)
SELECT %s::uuid, 'reach', left('pause ' || t.wish_by, 200) FROM t WHERE t.wish = 'pause'

-- reached -- Threads that a verb has to reach now, oldest first.
SELECT w.thread_id, w.thread_id, w.ref FROM gp_wake w JOIN gp_thread th ON th.id = w.thread_id
WHERE w.kind = %s::varchar AND {due} AND {not_set_aside} ORDER BY w.id LIMIT %s

-- forget_reach -- Takes news away, if it is due.
DELETE FROM gp_wake w USING gp_thread th WHERE th.id = w.thread_id
  AND w.thread_id = %s::uuid AND w.kind = %s::varchar AND w.ref = %s::varchar AND {due}
RETURNING w.id

-- take_pause -- Takes away what would pause a thread once it begins.
DELETE FROM gp_wake w WHERE w.thread_id = %s::uuid AND w.kind = %s::varchar
  AND w.ref LIKE 'pause %%' AND (%s::bigint IS NULL OR w.id < %s::bigint) RETURNING w.ref

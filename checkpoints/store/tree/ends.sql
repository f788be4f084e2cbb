-- looked -- A thread's status and version, whether it waits for children or signals, whether the
-- children it waits for have come (nobody of a join is at work any more, enough have succeeded, or
-- more have failed than may), and whether its time is over.
SELECT th.status, th.version, th.status = 'waiting' AND th.waiting_on ?| array['joins', 'signals'],
  th.status = 'waiting' AND th.waiting_on ? 'joins' AND EXISTS (
  SELECT 1 FROM jsonb_to_recordset(th.waiting_on -> 'joins') AS j (number smallint, need integer,
    of integer, raises boolean)
  WHERE NOT EXISTS (SELECT 1 FROM gp_child k WHERE k.parent = th.id AND k.awaited = j.number
      AND k.outcome = '')
    OR (j.need < j.of AND j.need <= (SELECT count(*) FROM (SELECT 1 FROM gp_child k
      WHERE k.parent = th.id AND k.awaited = j.number AND k.outcome = 'succeeded'
      LIMIT j.need) s))
    OR (j.raises AND j.of - j.need < (SELECT count(*) FROM (SELECT 1 FROM gp_child k
      WHERE k.parent = th.id AND k.awaited = j.number AND k.outcome IN ('failed', 'cancelled')
      LIMIT j.of - j.need + 1) f))),
  EXISTS (SELECT 1 FROM gp_wake w WHERE w.thread_id = th.id AND w.kind = 'deadline'
    AND w.due_at <= clock_timestamp())
FROM gp_thread th WHERE th.id = %s::uuid

-- next_held -- The first held child beside one that has ended.
SELECT k.child_id FROM gp_child k
WHERE k.fan_out = (SELECT e.fan_out FROM gp_child e WHERE e.child_id = %s::uuid)
  AND k.hold = 'held' ORDER BY k.ordinal LIMIT 1

-- parents_to_look_at -- Threads for which there is news of children that nobody has delivered.
SELECT DISTINCT w.thread_id FROM (SELECT w.thread_id FROM gp_wake w
  WHERE w.kind NOT IN ('input', 'reach', 'signal') AND w.due_at < clock_timestamp() - make_interval(secs => %s)
    AND {not_set_aside}
  ORDER BY w.due_at LIMIT %s) w

-- brought -- Children that came with a capsule, as their parent has to know them.
-- One that handed over has its successor in its place.
INSERT INTO gp_child (child_id, workspace_id, parent, fan_out, ordinal, outcome, successor)
SELECT th.id, th.workspace_id, th.parent, th.parent, 0,
  CASE WHEN h.id IS NOT NULL AND th.status = 'succeeded' THEN 'handed_off'
    WHEN th.status IN ('succeeded', 'failed', 'cancelled') THEN th.status ELSE '' END, h.id
FROM gp_thread th
LEFT JOIN gp_thread h ON h.parent = th.parent AND h.base = th.id AND h.root IS NOT NULL
WHERE th.parent = %s::uuid
  AND NOT EXISTS (SELECT 1 FROM gp_child k WHERE k.child_id = th.id)
ON CONFLICT DO NOTHING

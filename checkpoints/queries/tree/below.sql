-- below -- All threads under a thread: what it started, whom it handed over to, and so on; those
-- that were started first in front.
WITH RECURSIVE down AS (
  SELECT th.id, th.depth, th.created_at, th.workspace_id FROM gp_thread th WHERE th.id = %s::uuid
  UNION
  SELECT n.id, n.depth, n.created_at, n.workspace_id FROM down CROSS JOIN LATERAL (
    SELECT c.id, c.depth, c.created_at, c.workspace_id FROM gp_thread c
    WHERE c.parent = down.id AND c.workspace_id = down.workspace_id
    UNION ALL
    SELECT h.id, h.depth, h.created_at, h.workspace_id FROM gp_checkpoint p
    JOIN gp_thread h ON h.forked_from = p.id AND h.root IS NOT NULL
    WHERE p.thread_id = down.id AND h.workspace_id = down.workspace_id) n)
SELECT down.id FROM down WHERE down.id <> %s::uuid ORDER BY down.depth, down.created_at, down.id

-- next -- Threads that a thread started, or handed over to.
SELECT c.id FROM gp_thread c JOIN gp_thread th ON th.id = c.parent AND th.workspace_id = c.workspace_id
WHERE th.id = %s::uuid
UNION
SELECT h.id FROM gp_checkpoint p JOIN gp_thread h ON h.forked_from = p.id AND h.root IS NOT NULL
WHERE p.thread_id = %s::uuid AND h.workspace_id = p.workspace_id
ORDER BY 1

-- named -- Threads that the logs of these threads say they started, or handed over to.
SELECT x.child ->> 'thread' FROM gp_event e CROSS JOIN LATERAL jsonb_array_elements(
  CASE WHEN e.kind = 'child.started' THEN e.data -> 'children' ELSE jsonb_build_array(e.data) END)
  AS x (child)
WHERE e.thread_id = ANY(%s::uuid[]) AND e.kind IN ('child.started', 'thread.handed_off')

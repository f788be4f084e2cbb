-- selection -- The threads that an erasure of one thread takes along, by id: what was forked from it
-- or started by it, and so on. With the flag also what it came from, and all that came from those.
WITH RECURSIVE up AS (
  SELECT th.id, th.parent, th.base FROM gp_thread th
  WHERE th.id = %s::uuid AND th.workspace_id = %s::uuid
  UNION
  SELECT n.id, n.parent, n.base FROM up JOIN gp_thread n ON n.id IN (up.parent, up.base)
  WHERE %s::boolean AND n.workspace_id = %s::uuid
), down AS (
  SELECT up.id FROM up
  UNION
  SELECT n.id FROM down CROSS JOIN LATERAL (
    SELECT c.id, c.workspace_id FROM gp_thread c WHERE c.parent = down.id
    UNION ALL
    SELECT f.id, f.workspace_id FROM gp_checkpoint p JOIN gp_thread f ON f.forked_from = p.id
    WHERE p.thread_id = down.id) n
  WHERE n.workspace_id = %s::uuid)
SELECT th.id, th.title, th.status, th.parent, th.base, th.erasure,
  (SELECT h.reason FROM gp_hold h WHERE h.thread_id = th.id AND h.lifted_at IS NULL) AS hold
FROM down JOIN gp_thread th ON th.id = down.id ORDER BY th.id LIMIT %s

-- counts -- Rows and bytes of content that these threads have in the tables of the ground floor.
SELECT coalesce(sum(n), 0)::bigint, coalesce(sum(size), 0)::bigint FROM (
  SELECT count(*) AS n, sum(pg_column_size(data)) AS size FROM gp_event
  WHERE thread_id = ANY(%s::uuid[])
  UNION ALL SELECT count(*), sum(pg_column_size(delta)) FROM gp_checkpoint
  WHERE thread_id = ANY(%s::uuid[])
  UNION ALL SELECT count(*), sum(pg_column_size(body)) FROM gp_content
  WHERE thread_id = ANY(%s::uuid[])
  UNION ALL SELECT count(*), sum(pg_column_size(state)) FROM gp_keyframe
  WHERE thread_id = ANY(%s::uuid[])
  UNION ALL SELECT count(*), sum(pg_column_size(args) + coalesce(pg_column_size(result), 0)
    + pg_column_size(error) + coalesce(pg_column_size(cursor), 0)) FROM gp_activity
  WHERE thread_id = ANY(%s::uuid[])) s

-- files -- Files that the logs of these threads say they stored: how many, and their bytes.
SELECT count(*), coalesce(sum(a.size), 0)::bigint FROM (
  SELECT DISTINCT e.data ->> 'sha256' AS sha, e.workspace_id FROM gp_event e
  WHERE e.thread_id = ANY(%s::uuid[]) AND e.kind = 'artifact.stored') s
JOIN gp_artifact a ON a.workspace_id = s.workspace_id AND a.sha256 = s.sha

-- requests -- Requests of a workspace for erasure: those that wait first, then the newest.
SELECT {columns}, (SELECT th.title FROM gp_thread th WHERE th.id = r.thread_id) FROM gp_erasure r
WHERE r.workspace_id = %s::uuid
ORDER BY (r.state IN ('requested', 'approved')) DESC, r.requested_at DESC, r.id DESC LIMIT %s

-- request -- One of them.
SELECT {columns}, (SELECT th.title FROM gp_thread th WHERE th.id = r.thread_id) FROM gp_erasure r
WHERE r.workspace_id = %s::uuid AND r.id = %s::uuid

-- holds -- Legal holds of a workspace, or of one thread: those that are set first, then the newest.
SELECT h.id, h.workspace_id, h.thread_id, h.reason, h.set_by, h.set_at, h.lifted_by, h.lifted_at,
  h.lift_reason FROM gp_hold h
WHERE h.workspace_id = %s::uuid AND (%s::uuid IS NULL OR h.thread_id = %s::uuid)
ORDER BY (h.lifted_at IS NULL) DESC, h.set_at DESC, h.id DESC LIMIT %s

-- storage -- Rows of a thread of each kind, and their bytes estimated from a sample of each.
-- The head of an ephemeral thread is its own id: it has no checkpoint.
WITH th AS (SELECT id, agent_version_id, last_seq AS events,
    number + 1 - (head = id)::integer AS checkpoints,
    greatest(1, ceil(last_seq / {sample}.0)::bigint) AS event_stride,
    greatest(1, ceil((number + 1) / {sample}.0)::integer) AS checkpoint_stride
  FROM gp_thread WHERE id = %s::uuid),
e AS (SELECT avg(pg_column_size(x.data)) AS size FROM th,
  generate_series(th.events, 1, -th.event_stride) AS g (place),
  LATERAL (SELECT data FROM gp_event WHERE thread_id = th.id AND seq = g.place
    OFFSET 0) x),
c AS (SELECT avg(pg_column_size(x.delta)) AS size FROM th,
  generate_series(th.checkpoints - 1, 0, -th.checkpoint_stride) AS g (place),
  LATERAL (SELECT delta FROM gp_checkpoint WHERE thread_id = th.id AND number = g.place
    OFFSET 0) x),
k AS (SELECT count(*) AS n, coalesce(sum(pg_column_size(x.state)), 0) AS size
  FROM th JOIN gp_keyframe x ON x.thread_id = th.id),
g AS (SELECT count(*) AS n, coalesce(sum(pg_column_size(x.body) + {content}), 0) AS size
  FROM th JOIN gp_content x ON x.thread_id = th.id),
a AS (SELECT avg(pg_column_size(x.args) + coalesce(pg_column_size(x.result), 0)) AS size FROM th,
  LATERAL (SELECT args, result FROM gp_activity WHERE thread_id = th.id LIMIT {sample}) x),
r AS (SELECT count(*) AS n, count(DISTINCT (x.branch, x.step)) AS steps FROM th,
  LATERAL (SELECT branch, step FROM gp_activity WHERE thread_id = th.id
    ORDER BY branch DESC, step DESC LIMIT {exact}) x),
n AS (SELECT CASE WHEN r.n < {exact} THEN r.n
  ELSE greatest(r.n, r.n * th.checkpoints / greatest(r.steps, 1)) END AS activities FROM th, r)
SELECT th.events, th.checkpoints, n.activities, k.n AS keyframes,
  (th.events * (coalesce(e.size, 0) + {event}) + th.checkpoints * (coalesce(c.size, 0)
    + {checkpoint}) + n.activities * (coalesce(a.size, 0) + {activity}) + k.size
    + g.size)::bigint AS bytes,
  greatest(th.events, th.checkpoints, n.activities) <= {sample} AS sampled_all, g.n AS contents,
  (SELECT coalesce(v.graph ->> 'payloads', CASE WHEN v.graph ->> 'durability' = 'hot'
    THEN 'by size' END) FROM gp_agent_version v WHERE v.id = th.agent_version_id) AS kind
FROM th, e, c, k, a, n, g

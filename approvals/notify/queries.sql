-- endpoint -- Endpoints as people may see them, with counts of their deliveries up to a limit.
SELECT e.id, e.workspace_id AS workspace, e.kind, e.name, e.target, e.events::text, e.digest,
  e.people::text, e.teams::text, e.active, e.made_by, e.created_at,
  (SELECT coalesce(jsonb_agg(s - 'secret'), '[]')
    FROM jsonb_array_elements(e.secrets) s)::text AS secrets,
  w.open, w.late, f.failed, l.done_at AS last_done_at, coalesce(b.error, '') AS last_error
FROM gp_endpoint e
CROSS JOIN LATERAL (SELECT count(*) AS open, count(*) FILTER (WHERE x.error <> '') AS late
  FROM (SELECT error FROM gp_delivery WHERE endpoint_id = e.id AND done_at IS NULL
  AND failed_at IS NULL LIMIT %(cap)s) x) w
CROSS JOIN LATERAL (SELECT count(*) AS failed FROM (SELECT 1 FROM gp_delivery
  WHERE endpoint_id = e.id AND failed_at > clock_timestamp() - interval '7 days'
  LIMIT %(cap)s) x) f
LEFT JOIN LATERAL (SELECT done_at FROM gp_delivery WHERE endpoint_id = e.id
  AND done_at IS NOT NULL AND skipped = '' ORDER BY done_at DESC LIMIT 1) l ON true
LEFT JOIN LATERAL (SELECT error FROM gp_delivery WHERE endpoint_id = e.id AND error <> ''
  ORDER BY id DESC LIMIT 1) b ON true

-- deliveries -- The newest deliveries of an endpoint; `state` is open, done, skipped or failed.
SELECT id, news_id AS news, kind, recipient,
  CASE WHEN failed_at IS NOT NULL THEN 'failed' WHEN done_at IS NULL THEN 'open'
    WHEN skipped <> '' THEN 'skipped' ELSE 'done' END AS state,
  attempts, code, error, skipped, created_at, next_at, done_at, failed_at
FROM gp_delivery WHERE endpoint_id = %s::uuid AND workspace_id = %s::uuid
ORDER BY id DESC LIMIT %s

-- lag -- How far the outbox is behind, counted up to a limit.
SELECT n.count AS news, n.seconds AS news_seconds, d.count AS deliveries,
  d.seconds AS delivery_seconds, f.count AS failed
FROM (SELECT count(*) AS count,
    greatest(coalesce(extract(epoch FROM clock_timestamp() - min(x.at)), 0), 0)::float8 AS seconds
  FROM (SELECT at FROM gp_outbox WHERE done_at IS NULL ORDER BY at, id LIMIT %(cap)s) x) n,
(SELECT count(*) AS count, greatest(coalesce(extract(epoch FROM clock_timestamp() - min(x.next_at)),
  0), 0)::float8 AS seconds FROM (SELECT v.next_at FROM gp_delivery v JOIN gp_endpoint e
  ON e.id = v.endpoint_id AND e.active WHERE v.done_at IS NULL AND v.failed_at IS NULL
  AND v.next_at <= clock_timestamp() LIMIT %(cap)s) x) d,
(SELECT count(*) AS count FROM (SELECT 1 FROM gp_delivery WHERE failed_at IS NOT NULL
  LIMIT %(cap)s) x) f

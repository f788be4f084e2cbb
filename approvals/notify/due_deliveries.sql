-- snoozed -- The snoozed incident of a delivery `d`: nothing is sent about it now.
SELECT 1 FROM gp_outbox n JOIN gp_incident i ON i.id = n.incident_id
WHERE n.id = d.news_id AND i.closed_at IS NULL AND i.snoozed_until > clock_timestamp()

-- due -- A delivery that is open, due, claimed by nobody, and about no snoozed incident.
d.done_at IS NULL AND d.failed_at IS NULL AND d.next_at <= clock_timestamp()
  AND (d.claimed_until IS NULL OR d.claimed_until <= clock_timestamp())
  AND NOT EXISTS ({snoozed})

-- next_endpoint -- The endpoint whose delivery has been due for longest and that is not full.
SELECT e.id, e.workspace_id, e.kind, e.target, e.address, e.secrets::text, e.digest,
  clock_timestamp() AS now
FROM gp_endpoint e CROSS JOIN LATERAL (
  SELECT d.next_at AS at FROM gp_delivery d WHERE d.endpoint_id = e.id AND {due}
  ORDER BY d.next_at LIMIT 1) first
WHERE e.active AND e.id <> ALL(%s::uuid[]) AND (SELECT count(*) FROM gp_delivery d
  WHERE d.endpoint_id = e.id AND d.claim IS NOT NULL
  AND d.claimed_until > clock_timestamp()) < %s
ORDER BY first.at LIMIT 1 FOR NO KEY UPDATE OF e SKIP LOCKED

-- due_deliveries -- Deliveries of an endpoint that are due, of one recipient where that is wanted.
-- Nothing else for a recipient while something is on its way to them: a flood has to be seen whole.
SELECT d.id, d.recipient, d.webhook_id, d.news_id, d.kind FROM gp_delivery d
WHERE d.endpoint_id = %s::uuid AND {due}
  AND (%s::boolean OR NOT EXISTS (SELECT 1 FROM gp_delivery o WHERE o.endpoint_id = d.endpoint_id
    AND o.recipient = d.recipient AND o.done_at IS NULL AND o.failed_at IS NULL
    AND o.claimed_until > clock_timestamp()))
  AND (%s::varchar IS NULL OR d.recipient = %s::varchar)
ORDER BY d.next_at, d.id LIMIT %s

-- sent_lately -- How many messages a recipient got within the window, up to a limit.
SELECT count(*) AS messages, min(x.at) AS first
FROM (SELECT max(done_at) AS at FROM gp_delivery
  WHERE endpoint_id = %s::uuid AND recipient = %s::varchar AND skipped = ''
    AND done_at > clock_timestamp() - make_interval(mins => %s)
  GROUP BY parcel ORDER BY 1 DESC LIMIT %s) x

-- cannot_wait -- Whether a request among the deliveries must be decided before the window ends.
SELECT EXISTS (SELECT 1 FROM gp_delivery d JOIN gp_outbox n ON n.id = d.news_id
  JOIN gp_approval a ON a.id = n.approval_id
  WHERE d.id = ANY(%s::uuid[]) AND a.status = 'pending'
    AND coalesce(a.decide_by, a.deadline) < %s::timestamptz + make_interval(mins => %s)) AS urgent

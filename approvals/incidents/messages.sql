-- matches -- Whether a subscription s wants to hear of the incident i.
jsonb_exists(s.kinds, i.kind) AND (s.agent = '' OR s.agent = i.agent)
  AND (s.label = '' OR jsonb_exists(i.labels, s.label))

-- message -- What a subscription s has to be sent of the incident i, with its notice n; else null.
-- First that it was opened; then when 10, 100, 1,000 threads are in it, or once an hour while nobody
-- has taken it; and once more after a snooze.
CASE WHEN n.incident_id IS NULL THEN
    CASE WHEN {matches} AND i.last_at >= s.created_at THEN 'incident.opened' END
  WHEN i.snoozed_until > n.last_at THEN 'incident.reminded'
  WHEN i.threads > n.threads AND (length(i.threads::text) > length(n.threads::text)
    OR (i.taken_by = '' AND n.last_at <= clock_timestamp() - make_interval(secs => %(hour)s)))
    THEN 'incident.grew' END

-- escalates -- Whether nobody has taken the incident i for so long that s passes it on.
s.escalate_to_id IS NOT NULL AND n.incident_id IS NOT NULL AND n.escalated_at IS NULL
  AND i.taken_by = '' AND greatest(n.first_at, i.snoozed_until)
    <= clock_timestamp() - make_interval(mins => s.escalate_minutes)

-- speaks -- Whether the incident i is news now: open, with threads in trouble, not snoozed.
i.closed_at IS NULL AND i.affected > 0
  AND (i.snoozed_until IS NULL OR i.snoozed_until <= clock_timestamp())

-- pairs -- Subscriptions with their notices of an incident, of active endpoints only.
FROM gp_incident i JOIN gp_subscription s ON s.workspace_id = i.workspace_id
JOIN gp_endpoint e ON e.id = s.endpoint_id AND e.active
LEFT JOIN gp_incident_notice n ON n.incident_id = i.id AND n.subscription_id = s.id

-- due -- Incidents of which a subscription has to be sent something, the oldest first.
SELECT i.id {pairs}
WHERE {speaks} AND {waits} AND ({message} IS NOT NULL OR ({escalates}))
GROUP BY i.id ORDER BY i.id LIMIT %(limit)s

-- lock -- Lock an incident that is news now, unless somebody else is at it.
SELECT i.id, i.workspace_id AS workspace, i.agent, i.kind, i.reason, i.threads, i.affected,
  i.opened_at, i.taken_by, clock_timestamp() AS now
FROM gp_incident i WHERE i.id = %s::uuid AND {speaks} FOR UPDATE SKIP LOCKED

-- wanted -- What each subscription has to be sent of one incident: (its id, the message).
SELECT x.* FROM (SELECT s.id, {message} AS message, ({escalates}) AS escalates,
    s.escalate_to_id AS escalate_to
  {pairs} WHERE i.id = %(incident)s::uuid) x
WHERE x.message IS NOT NULL OR x.escalates ORDER BY x.id

-- channels -- Subscriptions with what their endpoint is and whom it may write to.
SELECT s.id, s.person, s.team, s.urgent, e.id AS endpoint, e.kind, e.address,
  e.people::text AS people, e.teams::text AS teams
FROM gp_subscription s JOIN gp_endpoint e ON e.id = s.endpoint_id AND e.active
WHERE s.workspace_id = %s::uuid AND s.id = ANY(%s::uuid[]) ORDER BY s.id

-- unsent -- Who has news of an incident that did not leave yet; it says what holds when it leaves.
SELECT d.endpoint_id, d.recipient FROM gp_outbox o JOIN gp_delivery d ON d.news_id = o.id
JOIN gp_endpoint e ON e.id = d.endpoint_id AND e.kind <> 'webhook'
WHERE o.incident_id = %s::uuid AND d.done_at IS NULL AND d.failed_at IS NULL AND d.claim IS NULL

-- announce -- The news itself; its deliveries are written with it, so nobody has to fan it out.
INSERT INTO gp_outbox (id, workspace_id, kind, incident_id, data, done_at)
VALUES (%s::uuid, %s::uuid, %s::varchar, %s::uuid, %s::jsonb, clock_timestamp())

-- note -- What a subscription was sent, so that it is sent once.
INSERT INTO gp_incident_notice (incident_id, subscription_id, threads)
SELECT %s::uuid, s, %s::integer FROM unnest(%s::uuid[]) s
ON CONFLICT (incident_id, subscription_id) DO UPDATE
SET threads = excluded.threads, last_at = clock_timestamp()

-- note_escalated -- That a subscription has passed an incident on.
UPDATE gp_incident_notice SET escalated_at = clock_timestamp()
WHERE incident_id = %s::uuid AND subscription_id = ANY(%s::uuid[])

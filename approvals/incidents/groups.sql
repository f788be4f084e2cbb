-- open -- The open incident of a group, made where there is none; its row is locked.
INSERT INTO gp_incident (id, workspace_id, agent, kind, fingerprint, reason)
VALUES (%s::uuid, %s::uuid, %s::varchar, %s::varchar, %s::varchar, %s::text)
ON CONFLICT (workspace_id, agent, kind, fingerprint) WHERE closed_at IS NULL
DO UPDATE SET kind = excluded.kind RETURNING id

-- still_new -- Those of some troubles that are part of no incident, and how they stand in this one.
SELECT x.subject, m.subject_id IS NOT NULL AS known, m.left_at IS NOT NULL AS had_left
FROM unnest(%(subjects)s::uuid[], %(since)s::timestamptz[]) x(subject, since)
LEFT JOIN gp_incident_thread m ON m.incident_id = %(incident)s::uuid AND m.subject_id = x.subject
WHERE NOT EXISTS (SELECT 1 FROM gp_incident_thread o WHERE o.subject_id = x.subject
  AND o.kind = %(kind)s::varchar AND o.since = x.since)

-- join -- Put threads into an incident; one that was in it before is in trouble again.
INSERT INTO gp_incident_thread (incident_id, subject_id, workspace_id, kind, reason, since)
SELECT %s::uuid, x.subject, %s::uuid, %s::varchar, x.reason, x.since
FROM unnest(%s::uuid[], %s::text[], %s::timestamptz[]) x(subject, reason, since)
ON CONFLICT (incident_id, subject_id) DO UPDATE SET since = excluded.since,
  reason = excluded.reason, joined_at = clock_timestamp(), left_at = NULL

-- count -- Count who joined an incident, and remember the labels that subscriptions name.
UPDATE gp_incident SET threads = threads + %s, affected = affected + %s,
  last_at = clock_timestamp(), labels = (SELECT coalesce(jsonb_agg(DISTINCT v), '[]')
    FROM jsonb_array_elements(labels || %s::jsonb) v)
WHERE id = %s::uuid AND closed_at IS NULL

-- leave -- Note which threads of an incident are no longer in trouble, as they were seen.
WITH gone AS (UPDATE gp_incident_thread m SET left_at = clock_timestamp()
  FROM unnest(%s::uuid[], %s::timestamptz[]) x(subject, since)
  WHERE m.incident_id = %s::uuid AND m.subject_id = x.subject AND m.since = x.since
    AND m.left_at IS NULL RETURNING 1)
UPDATE gp_incident SET affected = affected - (SELECT count(*) FROM gone) WHERE id = %s::uuid

-- close_ended -- Close an incident none of whose threads is still in trouble.
UPDATE gp_incident SET closed_at = clock_timestamp()
WHERE id = %s::uuid AND closed_at IS NULL AND affected <= 0

-- columns -- An incident as its pages and calls show it.
i.id, i.workspace_id AS workspace, i.agent, i.kind, i.reason, i.threads, i.affected, i.opened_at,
  i.last_at, i.taken_by, i.taken_at, CASE WHEN i.snoozed_until > clock_timestamp()
    THEN i.snoozed_until END AS snoozed_until, i.snoozed_by, i.closed_at, i.closed_by, i.close_reason

-- incidents -- Incidents of a workspace, the newest first, after one of them by keyset.
SELECT {columns} FROM gp_incident i
WHERE i.workspace_id = %(workspace)s::uuid
  AND {narrowed}
  AND (%(after)s::uuid IS NULL OR (i.opened_at, i.id)
    < (SELECT o.opened_at, o.id FROM gp_incident o WHERE o.id = %(after)s::uuid))
ORDER BY i.opened_at DESC, i.id DESC LIMIT %(limit)s

-- incident -- One incident of a workspace.
SELECT {columns} FROM gp_incident i WHERE i.id = %s::uuid AND i.workspace_id = %s::uuid

-- of_threads -- Open incidents that these threads of a workspace are part of now.
SELECT m.subject_id AS thread, i.id, i.affected
FROM gp_incident_thread m JOIN gp_incident i ON i.id = m.incident_id
WHERE m.subject_id = ANY(%s::uuid[]) AND m.kind = ANY(%s::text[]) AND m.left_at IS NULL
  AND i.workspace_id = %s::uuid AND i.closed_at IS NULL

-- threads -- The newest threads of an incident, with what they are called.
SELECT m.subject_id AS id, th.title, th.status, m.reason, m.since, m.left_at IS NULL AS in_trouble
FROM gp_incident_thread m LEFT JOIN gp_thread th ON th.id = m.subject_id
WHERE m.incident_id = %s::uuid ORDER BY m.joined_at DESC, m.subject_id DESC LIMIT %s

-- in_trouble -- The threads that are still part of an incident of a workspace, the newest first.
SELECT m.subject_id FROM gp_incident_thread m
WHERE m.incident_id = %s::uuid AND m.workspace_id = %s::uuid AND m.left_at IS NULL
ORDER BY m.joined_at DESC, m.subject_id DESC LIMIT %s

-- open_count -- Open incidents of a workspace, and those of them that nobody has taken or snoozed.
SELECT count(*) AS open, count(*) FILTER (WHERE i.taken_by = ''
    AND (i.snoozed_until IS NULL OR i.snoozed_until <= clock_timestamp())) AS untaken
FROM gp_incident i WHERE i.workspace_id = %s::uuid AND i.closed_at IS NULL

-- open_mark -- The clock in microseconds, and a digest of all that moves in open incidents of a workspace.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now,
  md5(coalesce(string_agg(concat_ws(' ', i.id, i.threads, i.affected, i.taken_by, i.last_at,
    i.snoozed_until > clock_timestamp(), i.reason), ',' ORDER BY i.id), '')) AS mark
FROM gp_incident i WHERE i.workspace_id = %s::uuid AND i.closed_at IS NULL

-- one_mark -- The clock in microseconds, and a digest of all that moves in one incident of a workspace.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now,
  coalesce((SELECT md5(concat_ws(' ', i.threads, i.affected, i.taken_by, i.taken_at, i.last_at,
      i.snoozed_until, i.snoozed_until > clock_timestamp(), i.closed_at, i.reason))
    FROM gp_incident i WHERE i.id = %s::uuid AND i.workspace_id = %s::uuid), '') AS mark

-- subscriptions -- Subscriptions of a workspace with their endpoints, of one person and their teams where asked.
SELECT s.id, s.workspace_id AS workspace, s.person, s.team, s.endpoint_id AS endpoint,
  e.name AS endpoint_name, e.kind AS channel, e.active AND NOT (s.kinds = '[]'::jsonb
    AND NOT EXISTS (SELECT 1 FROM gp_subscription o WHERE o.escalate_to_id = s.id)) AS active,
  s.kinds::text AS kinds, s.agent, s.label, s.urgent, s.escalate_to_id AS escalate_to,
  s.escalate_minutes, s.made_by, s.created_at
FROM gp_subscription s JOIN gp_endpoint e ON e.id = s.endpoint_id
WHERE s.workspace_id = %(workspace)s::uuid
  AND (%(id)s::uuid IS NULL OR s.id = %(id)s::uuid)
  AND (%(person)s::varchar = '' OR s.person = %(person)s::varchar
    OR s.team = ANY(%(teams)s::text[]))
ORDER BY s.created_at, s.id

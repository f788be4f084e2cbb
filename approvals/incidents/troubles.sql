-- by_status -- Threads that failed, need attention or paused at a cap and are part of no incident yet.
-- The walk begins a little before the newest known one: later commits can have earlier times. It
-- never begins in the future, whatever the clock did, nor further back than the longest absence.
SELECT th.id AS subject, w.id AS workspace, th.agent, x.kind, th.status_reason AS reason,
  th.status_since AS since, th.labels::text AS labels
FROM gp_workspace w
CROSS JOIN (VALUES ('failed', 'thread.failed'), ('attention', 'thread.attention'),
  ('paused', 'thread.over_budget')) x(status, kind)
CROSS JOIN LATERAL (SELECT least(clock_timestamp(), greatest(
    clock_timestamp() - make_interval(secs => %(absence)s),
    (SELECT m.since FROM gp_incident_thread m WHERE m.workspace_id = w.id AND m.kind = x.kind
      ORDER BY m.since DESC LIMIT 1))) - make_interval(secs => %(overlap)s) AS at) begins
CROSS JOIN LATERAL (SELECT th.id, th.agent, th.status_reason, th.status_since, th.labels
  FROM gp_thread th WHERE th.workspace_id = w.id AND th.status = x.status
    AND th.status_since >= begins.at
    AND (x.status <> 'paused' OR strpos(th.status_reason, '{at_cap}') > 0)
    AND NOT EXISTS (SELECT 1 FROM gp_incident_thread m WHERE m.subject_id = th.id
      AND m.kind = x.kind AND m.since = th.status_since)
    AND {waits}
  ORDER BY th.status_since, th.id LIMIT %(limit)s) th
UNION
SELECT th.id, th.workspace_id, th.agent, x.kind, th.status_reason, th.status_since, th.labels::text
FROM gp_set_aside aside JOIN gp_thread th ON th.id = aside.row_id
JOIN (VALUES ('failed', 'thread.failed'), ('attention', 'thread.attention'),
  ('paused', 'thread.over_budget')) x(status, kind) ON x.status = th.status
WHERE aside.part = 'incident' AND aside.next_at <= clock_timestamp()
  AND (x.status <> 'paused' OR strpos(th.status_reason, '{at_cap}') > 0)
  AND NOT EXISTS (SELECT 1 FROM gp_incident_thread m WHERE m.subject_id = th.id
    AND m.kind = x.kind AND m.since = th.status_since)

-- others -- Stuck threads, damaged records, lost steps and open breakers that are part of no incident yet.
SELECT x.* FROM (
  SELECT th.id AS subject, th.workspace_id AS workspace, th.agent, 'thread.stuck' AS kind, k.reason,
    k.since, th.labels::text AS labels
  FROM gp_stuck k JOIN gp_thread th ON th.id = k.thread_id AND th.status_since = k.status_since
    AND (k.last_seq IS NULL OR k.last_seq = th.last_seq)
  WHERE th.status <> 'attention' AND NOT EXISTS ({stopped_by})
  UNION ALL
  SELECT k.thread_id, k.workspace_id, coalesce(th.agent, ''), 'record.damaged', k.what,
    coalesce(k.found_at, k.checked_at), coalesce(th.labels, '{}')::text
  FROM gp_verification k LEFT JOIN gp_thread th ON th.id = k.thread_id
  WHERE NOT k.intact AND k.workspace_id IS NOT NULL
  UNION ALL
  SELECT k.workspace_id, k.workspace_id, '', 'record.damaged', k.what,
    coalesce(k.found_at, k.checked_at), '{}' FROM gp_workspace_verification k WHERE NOT k.intact
  UNION ALL
  SELECT th.id, th.workspace_id, th.agent, 'steps.lost', l.reason, l.at, th.labels::text
  FROM (SELECT DISTINCT ON (e.thread_id) e.thread_id, e.at,
      concat('Checkpoints #', coalesce(e.data ->> 'first', '?'), ' to #',
        coalesce(e.data ->> 'last', '?'), CASE WHEN e.data ->> 'at_least' = 'true'
          THEN ' at least, maybe more,' END, ' were lost: ', e.data ->> 'why') AS reason
    FROM gp_event e WHERE e.kind = 'steps.lost'
    ORDER BY e.thread_id, e.seq DESC) l
  JOIN gp_thread th ON th.id = l.thread_id
  -- A loss has no end: an older one would come again when its incident is dropped.
  WHERE l.at > clock_timestamp() - make_interval(secs => %(absence)s)
  UNION ALL
  SELECT b.id, b.workspace_id, coalesce(b.selection ->> 'agent', ''), 'breaker.tripped', b.reason,
    b.opened_at, coalesce(b.selection -> 'labels', '{}')::text
  FROM gp_breaker b WHERE b.closed_at IS NULL) x
WHERE NOT EXISTS (SELECT 1 FROM gp_incident_thread m WHERE m.subject_id = x.subject
    AND m.kind = x.kind AND m.since = x.since)
  AND {other_waits}
ORDER BY x.since, x.subject LIMIT %(limit)s

-- affected -- The next rows that stand in trouble, and whether they still do.
SELECT m.incident_id AS incident, m.subject_id AS subject, m.since, (CASE m.kind
    WHEN 'thread.failed' THEN th.status = 'failed' AND th.status_since = m.since
    WHEN 'thread.attention' THEN th.status = 'attention' AND th.status_since = m.since
    WHEN 'thread.over_budget' THEN th.status = 'paused' AND th.status_since = m.since
    WHEN 'steps.lost' THEN th.id IS NOT NULL
    WHEN 'thread.stuck' THEN EXISTS (SELECT 1 FROM gp_stuck k WHERE k.thread_id = th.id
      AND k.status_since = th.status_since AND (k.last_seq IS NULL OR k.last_seq = th.last_seq))
    WHEN 'record.damaged' THEN EXISTS (SELECT 1 FROM gp_verification k
        WHERE k.thread_id = m.subject_id AND NOT k.intact)
      OR EXISTS (SELECT 1 FROM gp_workspace_verification k
        WHERE k.workspace_id = m.subject_id AND NOT k.intact)
    ELSE EXISTS (SELECT 1 FROM gp_breaker b WHERE b.id = m.subject_id AND b.closed_at IS NULL)
  END) IS NOT TRUE AS ended
FROM gp_incident_thread m LEFT JOIN gp_thread th ON th.id = m.subject_id
WHERE m.left_at IS NULL AND (m.incident_id, m.subject_id) > (%s::uuid, %s::uuid)
ORDER BY m.incident_id, m.subject_id LIMIT %s

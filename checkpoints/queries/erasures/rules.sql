-- rule -- The retention rule of an agent, or with an empty name that of all other agents.
SELECT r.id, r.workspace_id, r.agent, r.days, r.archive, r.active, r.set_by, r.set_at
FROM gp_retention_rule r WHERE r.workspace_id = %s::uuid AND r.agent = %s::text

-- due -- Finished threads, by id, that a rule says are to be erased by now. One that was started by
-- another or forked from it may go before that; what came from it has to be due as well.
SELECT th.id, th.workspace_id, r.id, r.agent, r.days, r.archive FROM gp_retention_rule r
JOIN gp_thread th ON th.workspace_id = r.workspace_id
WHERE r.active AND (r.agent = th.agent OR r.agent = '' AND NOT EXISTS (SELECT 1
    FROM gp_retention_rule o WHERE o.workspace_id = r.workspace_id AND o.agent = th.agent))
  AND th.status = ANY(%s::text[]) AND th.erasure IS NULL AND th.id > %s::uuid
  AND th.status_since < clock_timestamp() - make_interval(days => r.days)
  AND NOT EXISTS (SELECT 1 FROM gp_hold h WHERE h.thread_id = th.id AND h.lifted_at IS NULL)
ORDER BY th.id LIMIT %s

-- all_due -- Whether all these threads ended at least this many days ago.
SELECT coalesce(bool_and(th.status_since < clock_timestamp() - make_interval(days => %s)), false)
FROM gp_thread th WHERE th.id = ANY(%s::uuid[])

-- count -- How many finished threads of a workspace a rule would erase now, up to a limit.
SELECT count(*) FROM (SELECT 1 FROM gp_thread th WHERE th.workspace_id = %s::uuid
  AND (th.agent = %s::text OR %s::text = '' AND NOT EXISTS (SELECT 1 FROM gp_retention_rule o
    WHERE o.workspace_id = th.workspace_id AND o.agent = th.agent))
  AND th.status = ANY(%s::text[]) AND th.erasure IS NULL
  AND th.status_since < clock_timestamp() - make_interval(days => %s)
  AND NOT EXISTS (SELECT 1 FROM gp_hold h WHERE h.thread_id = th.id AND h.lifted_at IS NULL)
  LIMIT %s) x

-- any -- Whether any rule is active.
SELECT EXISTS (SELECT 1 FROM gp_retention_rule WHERE active)

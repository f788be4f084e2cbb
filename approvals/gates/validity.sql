-- counted -- The people whose votes count with the seats of their stage; and who decided.
-- As the gate wrote them. An answer to a question is no vote. `owner` is whose right it was: that of
-- the person themselves, or of whom they were the deputy.
SELECT given ->> 'person' AS person, given ->> 'name' AS name, stage -> 'seats' AS seats,
  coalesce(given ->> 'for', given ->> 'person') AS owner
FROM jsonb_path_query(a.tally, '$.stages[*]') stage, jsonb_path_query(stage, '$.given[*]') given
UNION
SELECT split_part(a.decided_by, '/', 1), a.decided_by_name,
  jsonb_path_query_array(a.tally, '$.stages[*].seats[*]'),
  coalesce((SELECT nullif(d.for_person, '') FROM gp_decision d WHERE d.approval_id = a.id
    AND d.reviewer = a.decided_by ORDER BY d.at DESC, d.id DESC LIMIT 1),
    split_part(a.decided_by, '/', 1))

-- allowed -- A row if people let the action of a request happen and can no longer take it back.
-- The worker that asks may hold the lease for other nodes of the step: the lease alone says nothing.
SELECT 1 FROM gp_approval d WHERE d.id = %s::uuid AND d.outcome = ANY(%s::varchar[])
AND (d.status = 'settled' OR d.status = 'held' AND d.effective_at <= clock_timestamp())

-- look -- A row for everybody who was counted: whether they still may, and whether it is too late.
SELECT coalesce(a.effective_at, a.decided_at) + make_interval(secs => %s) < clock_timestamp()
  AS late, c.name AS name, coalesce(c.name, '') = ''
  OR coalesce(u.is_active AND EXISTS (SELECT 1 FROM gp_membership m
    WHERE m.user_id = u.id AND m.workspace_id = a.workspace_id AND m.role = %s::varchar)
  AND (o.id = u.id OR o.is_active AND EXISTS (SELECT 1 FROM gp_membership m
    WHERE m.user_id = o.id AND m.workspace_id = a.workspace_id AND m.role = %s::varchar))
  AND (c.seats ? '*' OR c.seats ? ('user:' || o.username) OR EXISTS (
    SELECT 1 FROM auth_user_groups ug JOIN auth_group g ON g.id = ug.group_id
    WHERE ug.user_id = o.id AND c.seats ? ('team:' || g.name))), false) AS may
FROM gp_approval a
LEFT JOIN LATERAL ({counted}) c ON c.person LIKE 'user:%%'
LEFT JOIN auth_user u ON u.id::text = substr(c.person, 6)
LEFT JOIN auth_user o ON o.id::text = substr(c.owner, 6)
WHERE a.id = %s::uuid ORDER BY c.name

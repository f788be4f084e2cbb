-- counted -- The people whose votes count with the seats of their stage; and who decided.
-- As the gate wrote them. An answer to a question is no vote.
SELECT given ->> 'person' AS person, given ->> 'name' AS name, stage -> 'seats' AS seats
FROM jsonb_path_query(a.tally, '$.stages[*]') stage, jsonb_path_query(stage, '$.given[*]') given
UNION
SELECT split_part(a.decided_by, '/', 1), a.decided_by_name,
  jsonb_path_query_array(a.tally, '$.stages[*].seats[*]')

-- look -- A row for everybody who was counted: whether they still may, and whether it is too late.
SELECT coalesce(a.effective_at, a.decided_at) + make_interval(secs => %s) < clock_timestamp()
  AS late, c.name AS name, coalesce(c.name, '') = ''
  OR coalesce(u.is_active AND EXISTS (SELECT 1 FROM gp_membership m
    WHERE m.user_id = u.id AND m.workspace_id = a.workspace_id AND m.role = %s::varchar)
  AND (c.seats ? '*' OR c.seats ? ('user:' || u.username) OR EXISTS (
    SELECT 1 FROM auth_user_groups ug JOIN auth_group g ON g.id = ug.group_id
    WHERE ug.user_id = u.id AND c.seats ? ('team:' || g.name))), false) AS may
FROM gp_approval a
LEFT JOIN LATERAL ({counted}) c ON c.person LIKE 'user:%%'
LEFT JOIN auth_user u ON u.id::text = substr(c.person, 6)
WHERE a.id = %s::uuid ORDER BY c.name

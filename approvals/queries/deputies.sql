-- now -- Who may act for whom at this moment, and how seats mean whom they act for.
-- Only where both may still decide here; of one request while it is open. Of one person: for whom
-- they act, and who acts for them.
SELECT y.deputy, y.person, y.approval_id AS request,
  coalesce(nullif(trim(u.first_name || ' ' || u.last_name), ''), u.username) AS name,
  u.username AS user, ARRAY(SELECT g.name::text FROM auth_user_groups ug
    JOIN auth_group g ON g.id = ug.group_id WHERE ug.user_id = u.id ORDER BY 1) AS teams
FROM gp_deputy y JOIN auth_user u ON u.id::text = substr(y.person, 6) AND u.is_active
WHERE y.workspace_id = %(workspace)s::uuid
  AND (%(person)s::text IS NULL OR %(person)s::text IN (y.deputy, y.person))
  AND y.begins <= statement_timestamp() AND (y.ends IS NULL OR y.ends > statement_timestamp())
  AND (y.approval_id IS NULL OR EXISTS (SELECT 1 FROM gp_approval a
    WHERE a.id = y.approval_id AND a.status = 'pending'))
  AND (SELECT count(DISTINCT m.user_id) FROM gp_membership m JOIN auth_user w ON w.id = m.user_id
    AND w.is_active WHERE m.workspace_id = y.workspace_id AND m.role = %(decides)s::text
    AND 'user:' || m.user_id IN (y.person, y.deputy)) = 2
ORDER BY y.approval_id NULLS LAST, y.begins, y.id

-- listed -- Deputies whose time is not over, of a workspace or of what concerns one person.
SELECT y.id, y.person, y.deputy, y.approval_id AS request, y.begins, y.ends, y.reason, y.made_by,
  coalesce(nullif(trim(p.first_name || ' ' || p.last_name), ''), p.username, y.person) AS person_name,
  coalesce(nullif(trim(d.first_name || ' ' || d.last_name), ''), d.username, y.deputy) AS deputy_name,
  y.begins <= statement_timestamp() AS began, coalesce(a.title, '') AS title
FROM gp_deputy y LEFT JOIN auth_user p ON p.id::text = substr(y.person, 6)
LEFT JOIN auth_user d ON d.id::text = substr(y.deputy, 6)
LEFT JOIN gp_approval a ON a.id = y.approval_id
WHERE y.workspace_id = %(workspace)s::uuid
  AND (%(person)s::text IS NULL OR %(person)s::text IN (y.person, y.deputy))
  AND (y.ends IS NULL OR y.ends > statement_timestamp())
  AND (y.approval_id IS NULL OR a.status = 'pending')
ORDER BY y.begins, y.id LIMIT %(limit)s

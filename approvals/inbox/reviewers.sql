-- How reviewers do. These statements are planned for their parameters, as those of the boxes.

-- opens -- A request that is decided on its own page; as InboxRow.opens says.
(a.risk = 'high' OR jsonb_array_length(coalesce(a.terms -> 'stages', '[]')) > 1)

-- taken_back -- Whether the person of a decision took it back: nothing is left of it.
SELECT count(*) FILTER (WHERE n.verdict = 'take_back') > 0 FROM (SELECT t.verdict
  FROM gp_decision t WHERE t.approval_id = d.approval_id AND t.verdict <> 'respond'
    AND split_part(t.reviewer, '/', 1) = split_part(d.reviewer, '/', 1)
    AND (t.at, t.id) > (d.at, d.id) ORDER BY t.at, t.id LIMIT 1) n

-- decisions -- The newest decisions of the last days: by whom, after how many seconds, and how
-- many after the request was opened; `counts` where it should have been.
SELECT split_part(d.reviewer, '/', 1) AS person, d.reviewer_name AS name, d.at, d.id,
  extract(epoch FROM d.at - a.requested_at)::float8 AS took,
  d.verdict IN ('approve', 'edit') AND {opens} AS counts,
  extract(epoch FROM d.at - k.at)::float8 AS looked
FROM gp_decision d JOIN gp_approval a ON a.id = d.approval_id
LEFT JOIN gp_approval_look k ON k.approval_id = d.approval_id
  AND k.person = split_part(d.reviewer, '/', 1) AND k.at <= d.at
WHERE d.workspace_id = %(workspace)s::uuid
  AND d.at > statement_timestamp() - make_interval(days => {days})
  AND d.verdict NOT IN ('take_back', 'respond') AND NOT a.imported AND a.kind IN ('gate', 'repeat')
  AND (%(person)s::text IS NULL OR split_part(d.reviewer, '/', 1) = %(person)s::text)
  AND NOT ({taken_back})
ORDER BY d.at DESC LIMIT {decided_cap}

-- habits -- Reviewers of the last days, or one of them, the busiest first.
WITH d AS ({decisions}),
c AS (SELECT *, count(*) FILTER (WHERE looked IS NOT NULL)
  OVER (PARTITION BY person ORDER BY at DESC, id DESC) AS later FROM d WHERE counts)
SELECT p.person, p.name, p.decided, p.median, p.newest, coalesce(c.counted, 0) AS counted,
  coalesce(c.unopened, 0) AS unopened, coalesce(c.quick, 0) AS quick,
  coalesce(c.streak, 0) AS streak
FROM (SELECT person, (array_agg(name ORDER BY at DESC))[1] AS name, count(*) AS decided,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY took) AS median, max(at) AS newest
  FROM d GROUP BY person) p
LEFT JOIN (SELECT person, count(*) AS counted, count(*) FILTER (WHERE looked IS NULL) AS unopened,
    count(*) FILTER (WHERE looked < {quick_seconds}) AS quick,
    count(*) FILTER (WHERE later = 0) AS streak FROM c GROUP BY person) c ON c.person = p.person
ORDER BY p.decided DESC, p.person

-- load -- How many of the oldest open requests wait for each seat.
SELECT seat, count(*) AS waiting, min(requested_at) AS oldest, count(*) FILTER (WHERE due) AS due
FROM (SELECT unnest(a.due_seats) AS seat, a.requested_at,
    coalesce(a.decide_by, a.deadline) < statement_timestamp() + interval '1 hour' AS due
  FROM (SELECT * FROM gp_approval WHERE workspace_id = %(workspace)s::uuid AND status = 'pending'
    ORDER BY requested_at, id LIMIT %(limit)s) a) x
GROUP BY seat ORDER BY waiting DESC, seat LIMIT 200

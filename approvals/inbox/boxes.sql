-- The boxes of the inbox. These statements are planned for their parameters: what compares one of
-- them with a constant is gone before a plan is made, so a condition that nobody wants costs
-- nothing and hides no index.

-- waiting -- Open requests of a workspace.
a.workspace_id = %(workspace)s::uuid AND a.status = 'pending'

-- represented -- It is the turn of somebody in whose place this person may act: as `turn_of` says.
EXISTS (SELECT 1 FROM jsonb_array_elements(%(represented)s::jsonb) y
  WHERE (y ->> 'request' IS NULL OR (y ->> 'request')::uuid = a.id)
    AND NOT y ->> 'person' = ANY(a.due_except)
    AND a.due_seats && ARRAY(SELECT jsonb_array_elements_text(y -> 'names')))
  AND NOT EXISTS (SELECT 1 FROM jsonb_array_elements(a.tally -> 'stages')
    WITH ORDINALITY s (stage, n) WHERE s.n > (a.tally ->> 'stage')::integer
    AND s.stage -> 'seats' ?| array_remove(%(seats)s::text[], '*'))

-- mine -- It is this person's turn, or that of somebody in whose place they may act.
%(person)s::text IS NOT NULL AND a.due_seats && %(all_seats)s::text[]
  AND NOT %(person)s::text = ANY(a.due_except)
  AND (cardinality(%(handed_over)s::uuid[]) = 0 OR NOT a.id = ANY(%(handed_over)s::uuid[]))
  AND (%(represented)s::jsonb = '[]' OR a.due_seats && %(seats)s::text[] OR {represented})

-- team -- It is the turn of one of this person's teams.
cardinality(%(team_seats)s::text[]) > 0 AND a.due_seats && %(team_seats)s::text[]

-- due -- The deadline is near.
-- The clock stands still for the statement, so that an index can be entered by it.
{due_at} < statement_timestamp() + make_interval(secs => {due_seconds})

-- high -- The risk is high.
gp_risk(a.risk) = 0

-- box -- Requests of one box, narrowed further where that is wanted.
a.workspace_id = %(workspace)s::uuid
  AND CASE WHEN %(box)s::text = 'done' THEN a.status <> 'pending' ELSE a.status = 'pending' END
  AND (%(box)s::text <> 'mine' OR ({mine}))
  AND (%(box)s::text <> 'team' OR ({team}))
  AND (%(box)s::text <> 'due' OR {due})
  AND (%(box)s::text <> 'high' OR {high})
  AND {narrowed}

-- window -- Requests of a box in one order, from behind `after`; those behind `beyond` are `later`.
-- With words: those among the first of them that have these words.
SELECT x.id, x.shape, x.high, x.due, x.since, x.later
FROM (SELECT y.*, row_number() OVER () AS place FROM (
    SELECT a.id, a.thread_id, a.title, a.sentence, a.tool, {shape} AS shape, {high} AS high,
      coalesce(a.decide_by, a.deadline) AS due, a.requested_at AS since,
      %(beyond)s::uuid IS NULL OR ({keys}) {comparison}
        (SELECT {keys} FROM gp_approval a WHERE a.id = %(beyond)s::uuid) IS TRUE AS later
    FROM gp_approval a
    WHERE {box} AND (%(after)s::uuid IS NULL OR ({keys}) {comparison}
      (SELECT {keys} FROM gp_approval a WHERE a.id = %(after)s::uuid))
    ORDER BY {order} LIMIT %(window)s) y) x
WHERE %(words)s::text IS NULL OR x.title ILIKE %(words)s OR x.sentence ILIKE %(words)s
  OR x.tool ILIKE %(words)s OR x.id::text LIKE %(words)s
  OR (SELECT th.title ILIKE %(words)s FROM gp_thread th WHERE th.id = x.thread_id)
ORDER BY x.place LIMIT %(limit)s

-- counts -- How many requests are in each box, counted up to a limit.
-- Each is counted in an order: without any the planner hopes to find enough of them wherever it
-- begins.
SELECT
  (SELECT count(*) FROM (SELECT FROM gp_approval a WHERE {waiting} AND {mine}
    ORDER BY a.requested_at, a.id LIMIT %(limit)s) x) AS mine,
  (SELECT count(*) FROM (SELECT FROM gp_approval a WHERE {waiting} AND {team}
    ORDER BY a.requested_at, a.id LIMIT %(limit)s) x) AS team,
  (SELECT count(*) FROM (SELECT FROM gp_approval a WHERE {waiting} AND {due}
    ORDER BY {due_at}, a.requested_at, a.id LIMIT %(limit)s) x) AS due,
  (SELECT count(*) FROM (SELECT FROM gp_approval a WHERE {waiting} AND {high}
    ORDER BY gp_risk(a.risk), a.requested_at, a.id LIMIT %(limit)s) x) AS high,
  (SELECT count(*) FROM (SELECT FROM gp_approval a WHERE {waiting}
    ORDER BY a.requested_at, a.id LIMIT %(limit)s) x) AS open

-- agents -- The agents of the oldest open requests, and what they are written in.
SELECT DISTINCT v.agent, CASE WHEN v.graph -> 'external' IS NULL THEN '{ours}'
  ELSE v.graph -> 'external' ->> 'framework' END AS framework
FROM (SELECT DISTINCT x.agent_version_id FROM (SELECT a.agent_version_id FROM gp_approval a
    WHERE {waiting} ORDER BY a.requested_at, a.id LIMIT %(limit)s) x) y
JOIN gp_agent_version v ON v.id = y.agent_version_id ORDER BY v.agent

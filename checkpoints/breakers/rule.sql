-- selected -- Whether the thread th is of the selection of b; none of it reads a clock.
(b.selection = '{}'::jsonb OR (
  {fields}
  AND (NOT b.selection ? 'labels' OR th.labels @> (b.selection -> 'labels'))
  AND (NOT b.selection ? 'q' OR strpos(lower(th.title), lower(b.selection ->> 'q')) > 0
    OR strpos(th.id::text, lower(b.selection ->> 'q')) > 0)
  AND (NOT b.selection ? 'words' OR gp_text_begins(th.title, th.id, b.selection ->> 'q'))))

-- ordinal -- The ordinal of the thread th in a staged release: the last 32 bits of its id, which are random.
('x' || right(th.id::text, 8))::bit(32)::bigint

-- stops -- Whether the breaker b stops the thread th: it is open, th is of its selection, not released.
b.closed_at IS NULL AND b.workspace_id = th.workspace_id
AND (b.released_to = 0 OR {ordinal} >= b.released_to) AND {selected}

-- stopped_by -- The open breakers that stop the thread th.
SELECT 1 FROM gp_breaker b WHERE {stops}

-- stopped -- The oldest open breaker that stops the thread th, as JSON; null where none does.
(SELECT jsonb_build_object('id', b.id, 'reason', b.reason, 'by', b.opened_by, 'at', b.opened_at)::text
FROM gp_breaker b WHERE {stops} ORDER BY b.opened_at, b.id LIMIT 1)

-- takeable -- Whether somebody could take the thread th now, did no breaker stop it.
(th.status = 'queued' OR (th.status = 'rolling_back' AND th.lease_token IS NULL)
  OR (th.status IN ('running', 'rolling_back') AND th.lease_until < clock_timestamp()))

-- open_ones -- The open breakers of a workspace, the newest first, as one JSON text; null for none.
SELECT json_agg(b ORDER BY b.opened_at DESC, b.id DESC)::text FROM gp_breaker b
WHERE b.workspace_id = %s::uuid AND b.closed_at IS NULL

-- added -- How many items each of these checkpoints added to a channel; null where it wrote it anew.
SELECT c.id, CASE WHEN c.delta -> 'set' ? x.channel OR c.delta -> 'put' ? x.channel
    OR coalesce(c.delta -> 'unset', '[]') ? x.channel THEN NULL
  ELSE jsonb_array_length(coalesce(c.delta -> 'append' -> x.channel, '[]')) END
FROM (SELECT %s::text AS channel, unnest(%s::uuid[]) AS thread_id, unnest(%s::uuid[]) AS id) x
JOIN gp_checkpoint c ON c.thread_id = x.thread_id AND c.id = x.id

-- taken -- Messages that checkpoints of these threads took into a channel, in the order of the items.
-- The event that names them stands before the one of its checkpoint, in the same statement.
SELECT k.checkpoint, r.actor, r.at, (r.data -> 'sent_by')::text AS sent_by,
  r.seq <= th.imported_seq AS imported
FROM gp_thread th CROSS JOIN LATERAL (SELECT e.seq, e.data FROM gp_event e
  WHERE e.thread_id = th.id AND e.seq > th.last_seq - %s::bigint AND e.kind = 'input.taken'
  AND e.data ->> 'channel' = %s::text) t
CROSS JOIN LATERAL (SELECT c.data ->> 'checkpoint' AS checkpoint FROM gp_event c
  WHERE c.thread_id = th.id AND c.seq BETWEEN t.seq + 1 AND t.seq + 9
  AND c.kind = 'checkpoint.committed' ORDER BY c.seq LIMIT 1) k
CROSS JOIN LATERAL jsonb_array_elements_text(t.data -> 'inputs') WITH ORDINALITY AS i (seq, place)
JOIN gp_event r ON r.thread_id = th.id AND r.seq = i.seq::bigint
WHERE th.id = ANY(%s::uuid[]) ORDER BY th.id, t.seq, i.place

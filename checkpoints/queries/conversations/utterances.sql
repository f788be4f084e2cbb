-- recorded_utterances -- Utterances of a thread from a number on, as their events have them.
SELECT (e.data -> 'utterance' ->> 'number')::bigint AS number, e.seq,
  coalesce(e.data -> 'message', e.data -> 'value')::text AS value,
  (e.data -> 'utterance' -> 'audio')::text AS audio, e.actor, e.at, e.data ->> 'why' AS why
FROM gp_event e
WHERE e.thread_id = %s::uuid
  AND e.kind IN ('input.received', 'signal.received', 'update.rejected')
  AND (e.data -> 'utterance' ->> 'number')::bigint >= %s::bigint
ORDER BY e.seq LIMIT %s::bigint

-- last_utterance -- The number of the last utterance behind an event, and the newest event.
SELECT (
  SELECT max((e.data -> 'utterance' ->> 'number')::bigint) FROM gp_event e
  WHERE e.thread_id = %s::uuid AND e.seq > %s::bigint
    AND e.kind IN ('input.received', 'signal.received', 'update.rejected')
) AS number, (SELECT th.last_seq FROM gp_thread th WHERE th.id = %s::uuid) AS seq

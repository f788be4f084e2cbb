-- begin -- The position of the index, at the beginning of all history where there is none. One that
-- is ahead of all transactions was made by another server: it begins anew.
INSERT INTO gp_index_position AS p (name, xid, thread_id, seq)
VALUES ('history', 0, '00000000-0000-0000-0000-000000000000', 0)
ON CONFLICT (name) DO UPDATE SET xid = 0, thread_id = EXCLUDED.thread_id, seq = 0
WHERE p.xid > pg_snapshot_xmax(pg_current_snapshot())::text::bigint

-- in_bulk -- More rows wait for their place in the index of words, and are sorted in memory: placed a
-- few at a time, each touches the same pages. The last batch, which is not full, places them.
SELECT set_config('gin_pending_list_limit', '16MB', true), set_config('work_mem', '64MB', true)

-- share -- Let no erasure of the index begin before this transaction ends.
SELECT pg_advisory_xact_lock_shared(hashtextextended('gatepost.history_index', 0))

-- lock -- Hold the position where it is as it was read and nobody else holds it.
SELECT 1 FROM gp_index_position WHERE name = 'history' AND xid = %(xid)s::bigint
AND thread_id = %(thread)s::uuid AND seq = %(seq)s::bigint FOR UPDATE SKIP LOCKED

-- add -- Words of events of threads that are not erased, nor about to be.
INSERT INTO gp_indexed_event (thread_id, seq, workspace_id, kind, agent, at, words)
SELECT t.thread, t.seq, th.workspace_id, t.kind, th.agent, t.at, gp_word_hashes(t.body)
FROM unnest(%(threads)s::uuid[], %(seqs)s::bigint[], %(kinds)s::text[], %(times)s::timestamptz[],
  %(bodies)s::text[]) AS t (thread, seq, kind, at, body)
JOIN gp_thread th ON th.id = t.thread AND th.erasure IS NULL
ON CONFLICT DO NOTHING

-- move -- Move the position to the last event that was read.
UPDATE gp_index_position SET xid = %(xid)s::bigint, thread_id = %(thread)s::uuid,
  seq = %(seq)s::bigint WHERE name = 'history'

-- forget -- Remove all words, for an index that is made anew.
DELETE FROM gp_indexed_event

-- restart -- Put the position before all history.
UPDATE gp_index_position SET xid = 0, seq = 0,
  thread_id = '00000000-0000-0000-0000-000000000000' WHERE name = 'history'

-- erase -- Remove the words of a thread, and the questions whose answers rest on it. It waits
-- for the shared lock of a process that adds words: what that has read is removed as well.
SELECT n_rows, n_bytes FROM gp_erase_index(%s::uuid)

-- count -- Rows of these threads that an erasure removes.
SELECT (SELECT count(*) FROM gp_indexed_event WHERE thread_id = ANY(%s::uuid[]))
  + (SELECT count(*) FROM gp_record_question WHERE threads && %s::uuid[]), 0::bigint

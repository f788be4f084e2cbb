-- note_artifacts -- Note the files that a thread's content names, to be deleted later.
INSERT INTO gp_erasure_file (id, erasure_id, workspace_id, path, sha256, n_removed)
SELECT gen_random_uuid(), %s::uuid, %s::uuid, a.path, a.sha256, 0 FROM (
  SELECT unnest(%s::varchar[]) AS sha
  UNION SELECT m[1] FROM gp_checkpoint c,
    regexp_matches(c.delta::text, '"\$artifact": ?"([0-9a-f]{64})"', 'g') m
    WHERE c.thread_id = %s::uuid
  UNION SELECT m[1] FROM gp_content g,
    regexp_matches(g.body, '"\$artifact": ?"([0-9a-f]{64})"', 'g') m
    WHERE g.thread_id = %s::uuid
  UNION SELECT m[1] FROM gp_event e,
    regexp_matches(e.data::text, '"(?:\$artifact|sha256)": ?"([0-9a-f]{64})"', 'g') m
    WHERE e.thread_id = %s::uuid
  UNION SELECT m[1] FROM gp_activity t, regexp_matches(
    concat_ws(' ', t.args::text, t.result::text, t.cursor::text, t.undo_result::text), '"\$artifact": ?"([0-9a-f]{64})"', 'g') m
    WHERE t.thread_id = %s::uuid) n
JOIN gp_artifact a ON a.workspace_id = %s::uuid AND a.sha256 = n.sha
WHERE NOT EXISTS (SELECT 1 FROM gp_erasure_file f WHERE f.erasure_id = %s::uuid
  AND f.sha256 = a.sha256)

-- note_folder -- Note the folder of a thread.
INSERT INTO gp_erasure_file (id, erasure_id, workspace_id, path, sha256, n_removed)
VALUES (gen_random_uuid(), %s::uuid, %s::uuid, %s::varchar, '', 0)

-- due -- Files of an erasure that are still there.
SELECT id, workspace_id, path, sha256 FROM gp_erasure_file
WHERE erasure_id = %s::uuid AND removed_at IS NULL ORDER BY id

-- removed -- Note that a file is gone, or all files of a folder.
UPDATE gp_erasure_file SET removed_at = clock_timestamp(), n_removed = %s::integer
WHERE id = %s::uuid

-- forget_notes -- Forget the notes of files that are gone; how many files they were.
WITH gone AS (DELETE FROM gp_erasure_file WHERE erasure_id = %s::uuid AND removed_at IS NOT NULL
  RETURNING n_removed)
SELECT coalesce(sum(n_removed), 0)::integer FROM gone

-- forget_artifact -- Take a file out of the list before its bytes go: no row points at nothing.
DELETE FROM gp_artifact WHERE workspace_id = %s::uuid AND sha256 = %s::varchar

-- threads_after -- Threads of a workspace, by id, whose content nobody is erasing.
SELECT id FROM gp_thread WHERE workspace_id = %s::uuid AND id > %s::uuid AND erasure IS NULL
ORDER BY id LIMIT %s

-- uses -- Whether the content of these threads names a file, by its hash.
SELECT EXISTS (SELECT 1 FROM gp_checkpoint WHERE thread_id = ANY(%s::uuid[])
    AND delta::text LIKE %s::text)
  OR EXISTS (SELECT 1 FROM gp_content WHERE thread_id = ANY(%s::uuid[]) AND body LIKE %s::text)
  OR EXISTS (SELECT 1 FROM gp_event WHERE thread_id = ANY(%s::uuid[]) AND data::text LIKE %s::text)
  OR EXISTS (SELECT 1 FROM gp_activity WHERE thread_id = ANY(%s::uuid[])
    AND concat(args::text, result::text, cursor::text, undo_result::text) LIKE %s::text)

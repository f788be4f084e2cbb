-- xid -- The number of this transaction.
pg_current_xact_id()::text::bigint

-- remember -- A new memory, unless its key is there or its thread has another lease. Its vector waits.
WITH kept AS (
INSERT INTO gp_memory (id, workspace_id, scope, owner, kind, text, metadata, salt, outside, source,
  thread_id, branch, step, node, key, author, expires_at)
SELECT %(id)s::uuid, %(workspace)s::uuid, %(scope)s::varchar, %(owner)s::varchar, %(kind)s::varchar,
  %(text)s::text, %(metadata)s::jsonb, %(salt)s::bytea, %(outside)s::boolean, %(source)s::varchar,
  %(thread)s::uuid, %(branch)s::integer, %(step)s::integer, %(node)s::varchar, %(key)s::varchar,
  %(author)s::varchar, clock_timestamp() + make_interval(secs => %(seconds)s::float8)
WHERE %(lease)s::uuid IS NULL OR EXISTS (SELECT 1 FROM gp_thread th
  WHERE th.id = %(thread)s::uuid AND th.lease_token = %(lease)s::uuid)
ON CONFLICT (workspace_id, key) WHERE key IS NOT NULL DO NOTHING
RETURNING id, workspace_id)
INSERT INTO gp_memory_vector (memory_id, workspace_id, xid) SELECT id, workspace_id, {xid} FROM kept

-- leased -- Whether a thread has this lease.
SELECT th.id FROM gp_thread th WHERE th.id = %s::uuid AND th.lease_token = %s::uuid

-- keep_former -- The text of a memory as it is, before it is corrected.
INSERT INTO gp_memory_text (memory_id, revision, workspace_id, text, metadata, author, written_at)
SELECT m.id, m.revision, m.workspace_id, m.text, m.metadata,
  coalesce(nullif(m.revised_by, ''), m.author), coalesce(m.revised_at, m.created_at)
FROM gp_memory m WHERE m.id = %s::uuid

-- correct -- Another text of a memory; its vector waits.
WITH corrected AS (
UPDATE gp_memory m SET text = %(text)s::text, metadata = %(metadata)s::jsonb, salt = %(salt)s::bytea,
  revision = m.revision + 1, revised_at = clock_timestamp(), revised_by = %(actor)s::varchar
WHERE m.id = %(id)s::uuid AND m.gone_at IS NULL
RETURNING m.id, m.revision)
UPDATE gp_memory_vector v SET revision = corrected.revision, vector = NULL, model = '',
  stored_in = '', xid = {xid}
FROM corrected WHERE v.memory_id = corrected.id

-- forget -- No text and no vector any more, and why.
WITH forgotten AS (
UPDATE gp_memory m SET text = '', metadata = '{}', salt = '', gone_at = clock_timestamp(),
  gone_by = %(actor)s::varchar, gone_reason = %(reason)s::text
WHERE m.id = ANY(%(ids)s::uuid[]) AND m.workspace_id = %(workspace)s::uuid AND m.gone_at IS NULL
RETURNING m.id)
UPDATE gp_memory_vector v SET gone = true, vector = NULL, model = '', stored_in = '', xid = {xid}
FROM forgotten WHERE v.memory_id = forgotten.id RETURNING v.memory_id AS id

-- held -- Those of these memories that came from a thread with a legal hold.
SELECT m.id FROM gp_memory m JOIN gp_hold h ON h.lifted_at IS NULL AND h.workspace_id = m.workspace_id
  AND (h.thread_id = m.thread_id OR (m.scope = 'thread' AND h.thread_id::text = m.owner))
WHERE m.id = ANY(%s::uuid[]) AND m.workspace_id = %s::uuid AND m.gone_at IS NULL

-- of_thread -- What came from a thread, or was its own, with the bytes of its texts.
SELECT m.id, pg_column_size(m.text) + pg_column_size(m.metadata) AS size FROM gp_memory m
WHERE m.workspace_id = %s::uuid AND m.gone_at IS NULL
  AND (m.thread_id = %s::uuid OR (m.scope = 'thread' AND m.owner = %s::varchar))

-- expired -- Memories whose time is over, the oldest first.
SELECT m.id, m.thread_id, m.workspace_id FROM gp_memory m
WHERE m.expires_at <= clock_timestamp() AND m.gone_at IS NULL AND {ready} AND NOT EXISTS (
  SELECT 1 FROM gp_hold h WHERE h.lifted_at IS NULL AND h.workspace_id = m.workspace_id
  AND (h.thread_id = m.thread_id OR (m.scope = 'thread' AND h.thread_id::text = m.owner)))
ORDER BY m.expires_at LIMIT %s

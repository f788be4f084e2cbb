-- lives -- A memory that can be recalled.
NOT v.gone AND (m.expires_at IS NULL OR m.expires_at > clock_timestamp())

-- waiting -- Texts without a vector of this model, the oldest first.
SELECT v.memory_id AS id, v.revision, left(m.text, %(length)s::integer) AS text
FROM gp_memory_vector v JOIN gp_memory m ON m.id = v.memory_id AND m.revision = v.revision
WHERE {lives} AND (v.model < %(model)s::varchar OR v.model > %(model)s::varchar) AND {ready}
ORDER BY v.memory_id LIMIT %(limit)s

-- progress -- Memories, and how many of them wait for a vector of this model or could get none yet.
SELECT count(*) AS memories, count(*) FILTER (WHERE v.model <> %(model)s::varchar) AS waiting,
  count(*) FILTER (WHERE v.model <> %(model)s::varchar AND NOT {ready}) AS refused
FROM gp_memory_vector v
WHERE NOT v.gone AND (%(workspace)s::uuid IS NULL OR v.workspace_id = %(workspace)s::uuid)

-- length -- Bytes of a vector of this model.
SELECT octet_length(v.vector) AS bytes FROM gp_memory_vector v
WHERE NOT v.gone AND v.model = %s::varchar LIMIT 1

-- unsent -- Rows that a store does not have as they are: vectors to put, gone ones to remove.
SELECT v.memory_id AS id, v.workspace_id AS workspace, v.revision, v.xid, m.scope, m.owner, m.kind,
  v.vector FROM gp_memory_vector v JOIN gp_memory m ON m.id = v.memory_id
WHERE (v.stored_in < %(store)s::varchar OR v.stored_in > %(store)s::varchar)
  AND (v.gone OR v.model = %(model)s::varchar)
ORDER BY v.memory_id LIMIT %(limit)s

-- unsent_count -- How many rows a store does not have as they are.
SELECT count(*) AS n FROM gp_memory_vector v
WHERE (v.stored_in < %(store)s::varchar OR v.stored_in > %(store)s::varchar)
  AND (v.gone OR v.model = %(model)s::varchar)

-- oldest_open -- The oldest transaction that may still write.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xid

-- changed -- Rows of a workspace that a transaction has written since.
SELECT v.memory_id AS id, v.revision, v.xid,
  v.vector IS NOT NULL AND v.model = %(model)s::varchar AS has_vector
FROM gp_memory_vector v WHERE v.workspace_id = %(workspace)s::uuid AND v.xid >= %(since)s::bigint

-- named -- Vectors by their memories.
SELECT v.memory_id AS id, v.workspace_id AS workspace, v.revision, v.xid, m.scope, m.owner, m.kind,
  v.vector FROM gp_memory_vector v JOIN gp_memory m ON m.id = v.memory_id
WHERE v.memory_id = ANY(%s::uuid[]) AND v.model = %s::varchar AND v.vector IS NOT NULL

-- page -- Vectors of this model after one, in the order of their memories.
SELECT v.memory_id AS id, v.workspace_id AS workspace, v.revision, v.xid, m.scope, m.owner, m.kind,
  v.vector FROM gp_memory_vector v JOIN gp_memory m ON m.id = v.memory_id
WHERE v.model = %(model)s::varchar AND v.vector IS NOT NULL
  AND (%(after)s::uuid IS NULL OR v.memory_id > %(after)s::uuid)
ORDER BY v.memory_id LIMIT %(limit)s

-- revisions -- Vectors of this model with their workspaces.
SELECT v.workspace_id AS workspace, v.memory_id AS id, v.revision FROM gp_memory_vector v
WHERE NOT v.gone AND v.model = %s::varchar

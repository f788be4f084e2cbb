-- save -- Vectors that were made, unless their memories have changed or are gone.
UPDATE gp_memory_vector v SET vector = n.vector, model = %(model)s::varchar, stored_in = '',
  xid = pg_current_xact_id()::text::bigint
FROM unnest(%(ids)s::uuid[], %(revisions)s::integer[], %(vectors)s::bytea[]) AS n (id, revision, vector)
WHERE v.memory_id = n.id AND v.revision = n.revision AND NOT v.gone

-- stored -- Rows that a store has as they are. One that has changed since it was read is sent again,
-- whatever another process has noted meanwhile.
UPDATE gp_memory_vector v SET stored_in = CASE WHEN v.xid = n.xid THEN %(store)s::varchar ELSE '' END
FROM unnest(%(ids)s::uuid[], %(xids)s::bigint[]) AS n (id, xid)
WHERE v.memory_id = n.id

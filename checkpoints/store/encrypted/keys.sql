-- keys -- The data keys of a thread and of those that it was forked from: (thread, key as stored).
WITH RECURSIVE up AS (
  SELECT th.id, th.base FROM gp_thread th WHERE th.id = %s::uuid
  UNION
  SELECT b.id, b.base FROM up JOIN gp_thread b ON b.id = up.base)
SELECT k.id, k.key FROM up JOIN gp_channel_key k ON k.id = up.id

-- insert -- Give some threads a data key, unless they have one: arrays of ids and of keys.
INSERT INTO gp_channel_key (id, workspace_id, key)
SELECT x.id, %s::uuid, x.key FROM unnest(%s::uuid[], %s::text[]) AS x (id, key)
ON CONFLICT (id) DO NOTHING

-- own -- The data keys of exactly these threads.
SELECT k.id, k.key FROM gp_channel_key k WHERE k.id = ANY(%s::uuid[])

-- erase -- Delete the data key of an erased thread: (how many, characters).
WITH gone AS (DELETE FROM gp_channel_key k WHERE k.id = %s::uuid RETURNING length(k.key) AS size)
SELECT count(*), coalesce(sum(gone.size), 0)::bigint FROM gone

-- count -- Count the data keys of some threads: (how many, characters).
SELECT count(*), coalesce(sum(length(k.key)), 0)::bigint FROM gp_channel_key k
WHERE k.id = ANY(%s::uuid[])

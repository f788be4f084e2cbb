-- held -- Seconds for which events have waited that an older open transaction keeps out of anchors,
-- NULL where it keeps none. An imported event has a time of long ago: the newest of its transaction.
SELECT extract(epoch FROM clock_timestamp() - max(e.at)) FROM gp_event e WHERE e.xid8 = (
  SELECT f.xid8 FROM gp_event f WHERE f.xid8 >= pg_snapshot_xmin(pg_current_snapshot())
  ORDER BY f.xid8, f.thread_id, f.seq LIMIT 1)

-- standings -- Those of these destinations that a worker has seen.
SELECT name, acknowledged, acknowledged_at, created_at, tried_at, error, alarmed_at,
  clock_timestamp() AS now, coalesce(({held}), 0)::float8 AS held_seconds
FROM gp_anchor_destination WHERE name = ANY(%s::text[]) ORDER BY name

-- sizes -- Bytes of each table of the installation, with its indexes, beside its events and what calls cost.
-- Events are counted up to a limit. Beyond it they follow from how many PostgreSQL found on a page
-- when it last looked, times the pages of now. Cost and events of the workspace are those of the
-- threads that changed last, as each has them in its row.
WITH event AS (SELECT oid, relnamespace, reltuples, relpages FROM pg_class
  WHERE oid = 'gp_event'::regclass)
SELECT extract(epoch FROM clock_timestamp())::float8 AS at, sizes.names, sizes.bytes, recent.cost, recent.events AS recent_events,
  CASE WHEN event.reltuples < %s THEN (SELECT count(*) FROM (SELECT 1 FROM gp_event LIMIT %s) x)
  ELSE (event.reltuples::float8 / event.relpages
    * (pg_relation_size(event.oid) / current_setting('block_size')::integer))::bigint END AS events
FROM event,
LATERAL (SELECT array_agg(c.relname::text ORDER BY c.oid) AS names,
    array_agg(pg_total_relation_size(c.oid) ORDER BY c.oid) AS bytes FROM pg_class c
  WHERE c.relkind = 'r' AND c.relnamespace = event.relnamespace
    AND starts_with(c.relname::text, 'gp_')) sizes,
LATERAL (SELECT coalesce(sum(th.cost), 0) AS cost, coalesce(sum(th.last_seq), 0)::bigint AS events
  FROM (SELECT cost, last_seq FROM gp_thread WHERE workspace_id = %s::uuid
    ORDER BY status_since DESC, id DESC LIMIT %s) th) recent

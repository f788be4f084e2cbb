-- new_threads -- Threads that another one starts, as rows of the statement that moves it (t). The one
-- parameter is a JSON array with an object for each; their hashes are chained here, at its time.
SELECT c.*, t.workspace_id, t.last_at,
  gp_link(c.chain_id, 1::bigint, c.kind, c.v, c.actor, t.last_at, c.data_hash, c.no_hash) AS hash
FROM t, json_to_recordset(%s::json) AS c (
  id uuid, chain_id uuid, agent_version_id uuid, agent varchar, queue varchar, title varchar,
  labels text, effects varchar, waiting_on text, started_by varchar, parent uuid, root uuid,
  depth smallint, base uuid, forked_from uuid,
  checkpoint uuid, step integer, point_parent uuid, parent_thread uuid, parent_number integer,
  source varchar, next_nodes text, delta text, delta_salt bytea, delta_hash bytea,
  state_hash bytea, state_bytes bigint, schema_version integer, point_version uuid, config text,
  digests bytea,
  kind varchar, v smallint, actor varchar, data text, salt bytea, data_hash bytea, no_hash bytea,
  fan_out uuid, ordinal integer, hold varchar, contents json, searchable text,
  automatic_title varchar)

-- threads -- Their rows.
INSERT INTO gp_thread (id, workspace_id, agent_version_id, agent, title, labels, queue, status,
  status_reason, waiting_on, wake_seq, wish, wish_by, pause_at, effects, head, number, step, branch,
  branch_start, next_nodes, state_bytes, version, chain_id, last_seq, last_hash, prev_hash, last_at,
  lease_owner, fence, crash_count, started_by, parent, root, depth, base, forked_from, n_steps,
  tokens, cost, tokens_saved, searchable, automatic_title)
SELECT c.id, c.workspace_id, c.agent_version_id, c.agent, c.title, c.labels::jsonb, c.queue,
  CASE WHEN c.waiting_on IS NULL THEN 'queued' ELSE 'waiting' END, '', c.waiting_on::jsonb, 0, '', '', '',
  c.effects, c.checkpoint, 0, c.step, 0, 0, c.next_nodes::jsonb, c.state_bytes, 1, c.chain_id, 1, c.hash,
  c.no_hash, c.last_at, '', 0, 0, c.started_by, c.parent, c.root, c.depth, c.base, c.forked_from,
  0, 0, 0, 0, c.searchable::jsonb, c.automatic_title
FROM u0 c

-- checkpoints -- Their first checkpoints.
INSERT INTO gp_checkpoint (id, thread_id, workspace_id, number, branch, branch_start, step, parent,
  parent_thread, parent_number, source, nodes, next_nodes, delta, salt, delta_hash, state_hash,
  state_bytes, schema_version, agent_version_id, config, created_by, created_at, digests)
SELECT c.checkpoint, c.id, c.workspace_id, 0, 0, 0, c.step, c.point_parent, c.parent_thread,
  c.parent_number, c.source, '[]'::jsonb, c.next_nodes::jsonb, c.delta::jsonb, c.delta_salt, c.delta_hash,
  c.state_hash, c.state_bytes, c.schema_version, c.point_version, c.config::jsonb, c.actor, c.last_at,
  c.digests
FROM u0 c

-- contents -- Large values of their first checkpoints.
INSERT INTO gp_content (thread_id, sha256, workspace_id, body)
SELECT c.id, x.key, c.workspace_id, x.value
FROM u0 c, LATERAL json_each_text(c.contents) AS x (key, value)

-- events -- Their first events.
INSERT INTO gp_event (thread_id, workspace_id, at, seq, kind, v, actor, data, salt, data_hash,
  prev_hash, hash)
SELECT c.id, c.workspace_id, c.last_at, 1, c.kind, c.v, c.actor, c.data::jsonb, c.salt, c.data_hash,
  c.no_hash, c.hash
FROM u0 c

-- children -- What their parent has to know of them.
INSERT INTO gp_child (child_id, workspace_id, parent, fan_out, ordinal, hold)
SELECT c.id, c.workspace_id, c.parent, c.fan_out, c.ordinal, c.hold FROM u0 c
WHERE c.fan_out IS NOT NULL

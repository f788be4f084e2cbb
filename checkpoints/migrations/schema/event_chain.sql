-- gp_link: the hash of an event, over its own fields and the hash of the event before it. Computed
-- in the statement that inserts the event, where the thread's row is locked.
CREATE FUNCTION gp_link(chain uuid, seq bigint, kind text, v integer, actor text,
                        at timestamptz, data_hash bytea, prev bytea)
RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT sha256(convert_to(
    'gatepost-event-1|' || chain::text || '|' || seq::text || '|' || kind || '|' || v::text
    || '|' || actor || '|' || (extract(epoch FROM at) * 1000000)::bigint::text
    || '|' || encode(data_hash, 'hex') || '|' || encode(prev, 'hex'), 'UTF8'))
$$;

-- gp_event.xid8: the transaction that wrote the event. Sequence numbers are gapless within a thread
-- only; readers across threads go by (xid8, thread_id, seq) below pg_snapshot_xmin.
ALTER TABLE gp_event ADD COLUMN xid8 xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX gp_event_feed ON gp_event (xid8, thread_id, seq);

-- gp_event_rare: the few events that monitoring and savings read, tiny however long the log. The
-- kinds repeat FAULTS and RESUMING of checkpoints.queries; a test compares them.
CREATE INDEX gp_event_rare ON gp_event (kind, workspace_id, thread_id, seq)
  WHERE kind IN ('lease.taken_over', 'step.fenced', 'thread.retried');

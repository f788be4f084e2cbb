-- along_thread -- Events of one thread in its own order.
SELECT e.* FROM gp_event e WHERE e.thread_id = %(thread)s::uuid
  AND e.seq {beyond} %(at_seq)s::bigint ORDER BY e.seq {way} LIMIT %(window)s

-- along_decisions -- Events about requests and decisions of a workspace, by their time.
SELECT e.* FROM gp_event e WHERE e.workspace_id = %(workspace)s::uuid AND e.kind IN ({decisions})
  AND e.at >= %(since)s::timestamptz AND e.at < %(until)s::timestamptz AND (e.at, e.thread_id,
  e.seq) {beyond} (%(at_time)s::timestamptz, %(at_thread)s::uuid, %(at_seq)s::bigint)
ORDER BY e.at {way}, e.thread_id {way}, e.seq {way} LIMIT %(window)s

-- along_verdicts -- Those of them that record one verdict, in the same order.
SELECT e.* FROM gp_event e WHERE e.workspace_id = %(workspace)s::uuid AND e.kind IN ({decisions})
  AND e.data ->> 'verdict' = %(decision)s::text
  AND e.at >= %(since)s::timestamptz AND e.at < %(until)s::timestamptz AND (e.at, e.thread_id,
  e.seq) {beyond} (%(at_time)s::timestamptz, %(at_thread)s::uuid, %(at_seq)s::bigint)
ORDER BY e.at {way}, e.thread_id {way}, e.seq {way} LIMIT %(window)s

-- along_notable -- Events of a workspace that are no steps, by their time.
SELECT e.* FROM gp_event e WHERE e.workspace_id = %(workspace)s::uuid AND e.kind IN ({notable})
  AND e.at >= %(since)s::timestamptz AND e.at < %(until)s::timestamptz AND (e.at, e.thread_id,
  e.seq) {beyond} (%(at_time)s::timestamptz, %(at_thread)s::uuid, %(at_seq)s::bigint)
ORDER BY e.at {way}, e.thread_id {way}, e.seq {way} LIMIT %(window)s

-- along_named -- Those of some threads, in the same order. Each thread is read by itself: the planner
-- takes a walk over all events for cheaper.
SELECT e.* FROM unnest(%(threads)s::uuid[]) t (id) CROSS JOIN LATERAL (SELECT x.* FROM gp_event x
  WHERE x.thread_id = t.id AND x.kind IN ({notable}) OFFSET 0) e
WHERE e.at >= %(since)s::timestamptz AND e.at < %(until)s::timestamptz AND (e.at, e.thread_id,
  e.seq) {beyond} (%(at_time)s::timestamptz, %(at_thread)s::uuid, %(at_seq)s::bigint)
ORDER BY e.at {way}, e.thread_id {way}, e.seq {way} LIMIT %(window)s

-- along_feed -- All events in the order of the feed, of all workspaces.
SELECT e.* FROM gp_event e WHERE e.xid8 >= %(first_xid)s::text::xid8
  AND e.xid8 <= %(last_xid)s::text::xid8 AND (e.xid8, e.thread_id, e.seq) {beyond}
  (%(at_xid)s::text::xid8, %(at_thread)s::uuid, %(at_seq)s::bigint)
ORDER BY e.xid8 {way}, e.thread_id {way}, e.seq {way} LIMIT %(window)s

-- xids -- Transactions between which the events of a period were written, by notable events around
-- it; a transaction ends within the minute. Of what was imported the time says nothing.
SELECT coalesce((SELECT e.xid8::text FROM gp_event e JOIN gp_thread th ON th.id = e.thread_id
    WHERE e.workspace_id = %(workspace)s::uuid AND e.kind IN ({notable})
    AND e.at < %(since)s::timestamptz - interval '1 minute' AND th.imported_seq = 0
    ORDER BY e.at DESC, e.thread_id DESC, e.seq DESC LIMIT 1), '0') AS first,
  coalesce((SELECT e.xid8::text FROM gp_event e JOIN gp_thread th ON th.id = e.thread_id
    WHERE e.workspace_id = %(workspace)s::uuid AND e.kind IN ({notable})
    AND e.at > %(until)s::timestamptz + interval '1 minute' AND th.imported_seq = 0
    ORDER BY e.at, e.thread_id, e.seq LIMIT 1), '9223372036854775807') AS last

-- proposed -- What a request asked for, what reviewers made of it by edits, and what an effect was
-- called with.
jsonb_build_array(a.args, a.standing_args, a.decided_args, x.args)

-- fits -- Whether an event `l` of a thread `th`, with its request `a` and effect `x`, answers the
-- question.
l.workspace_id = %(workspace)s::uuid AND l.at >= %(since)s::timestamptz
  AND l.at < %(until)s::timestamptz
  AND (%(kinds)s::text[] IS NULL OR l.kind = ANY(%(kinds)s::text[]))
  AND {narrowed}
  AND (%(text)s::text = ''
    OR position(lower(%(in_json)s::text) IN lower(concat_ws(' ', l.data::text, a.args::text,
      a.standing_args::text, a.decided_args::text, x.args::text))) > 0
    OR position(lower(%(text)s::text) IN lower(concat_ws(' ', a.title, a.description,
      a.sentence))) > 0)
  AND (%(payee)s::text = '' OR EXISTS (SELECT 1 FROM jsonb_path_query({proposed},
    'strict $.** ? (@.type() == "object").keyvalue()', '{}', true) m
    WHERE m ->> 'key' = ANY(%(payees)s::text[])
    AND position(lower(%(payee)s::text) IN lower(m ->> 'value')) > 0))
  AND (%(least)s::numeric IS NULL AND %(most)s::numeric IS NULL OR EXISTS (
    SELECT 1 FROM jsonb_path_query({proposed},
      'strict $.** ? (@.type() == "object").keyvalue()', '{}', true) m
    WHERE m ->> 'key' = ANY(%(amounts)s::text[]) AND CASE
      WHEN m ->> 'value' ~ '^-?[0-9]{1,15}([.][0-9]{1,8})?$' THEN (m ->> 'value')::numeric
      BETWEEN coalesce(%(least)s::numeric, '-Infinity')
      AND coalesce(%(most)s::numeric, 'Infinity') END))

-- moment -- The transactions that have ended by now, as a text.
SELECT pg_current_snapshot()::text AS moment

-- stood -- Whether an event `l` stood in the record at `moment`; '' leaves out none. A number that
-- this server has not given out yet came with a dump, and the open transaction sees its own.
(%(moment)s::text = '' OR pg_visible_in_snapshot(l.xid8, nullif(%(moment)s::text, '')::pg_snapshot)
  OR l.xid8 >= pg_snapshot_xmax(pg_current_snapshot()) OR l.xid8 = pg_current_xact_id_if_assigned())

-- joined -- Those of the events `looked` at that answer the question, up to `cap`.
SELECT l.*, th.agent, th.title, th.chain_id AS chain, th.imported_seq, a.id AS approval,
  coalesce(l.data ->> 'node', a.node) AS node, coalesce(l.data ->> 'step', a.step::text) AS step,
  coalesce(nullif(l.data ->> 'tool', ''), a.tool) AS tool, a.risk,
  CASE WHEN x.id IS NOT NULL THEN x.args
    WHEN l.data ? 'verdict' AND l.data ->> 'proposal_hash' = a.standing_hash
    THEN coalesce(a.standing_args, a.args) ELSE a.args END::text AS args,
  CASE WHEN l.data ->> 'verdict' = 'edit' AND l.data ->> 'decision'
    ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN (l.data ->> 'decision')::uuid END AS edited,
  coalesce(nullif(a.sentence, ''), a.title) AS request
FROM looked l JOIN gp_thread th ON th.id = l.thread_id
LEFT JOIN gp_activity x ON l.kind IN ({effects}) AND x.thread_id = l.thread_id AND x.id = CASE
  WHEN l.data ->> 'activity' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
  THEN (l.data ->> 'activity')::uuid END
LEFT JOIN gp_approval a ON a.workspace_id = l.workspace_id AND a.id = CASE
  WHEN l.data ->> 'approval' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
  THEN (l.data ->> 'approval')::uuid ELSE x.approval_id END
WHERE {stood} AND {fits} ORDER BY l.place LIMIT %(cap)s

-- matched -- The first of those. `n` counts them, `edge` is the last event looked at where there may
-- be more behind it.
SELECT c.n, c.edge_at, c.edge_thread, c.edge_seq, c.edge_xid, m.thread_id AS thread, m.seq, m.kind,
  m.v, m.actor, m.at, m.xid8::text::bigint AS xid, m.data::text AS data, m.salt, m.data_hash,
  m.prev_hash, m.hash, m.agent, m.title, m.chain, m.approval, m.node, m.step, m.tool, m.risk,
  coalesce((SELECT d.args::text FROM gp_decision d WHERE d.id = m.edited
    AND d.approval_id = m.approval), m.args) AS args, m.request, m.seq <= m.imported_seq AS imported,
  (SELECT coalesce(p.data -> 'checkpoint' ->> 'number', p.data ->> 'number') FROM gp_event p
   WHERE p.thread_id = m.thread_id AND p.seq <= m.seq
   AND p.kind IN ('checkpoint.committed', 'thread.started', 'thread.forked')
   ORDER BY p.seq DESC LIMIT 1) AS checkpoint
FROM (SELECT (SELECT count(*) FROM matched) AS n, x.at AS edge_at, x.thread_id AS edge_thread,
    x.seq AS edge_seq, x.xid8::text::bigint AS edge_xid
  FROM (SELECT 1) one LEFT JOIN (SELECT * FROM looked WHERE place = %(window)s) x ON true) c
LEFT JOIN (SELECT * FROM matched ORDER BY place LIMIT %(limit)s) m ON true ORDER BY m.place

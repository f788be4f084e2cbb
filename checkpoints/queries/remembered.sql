-- seen -- What the viewer may see.
(m.scope <> 'person' OR %(all)s::boolean OR m.owner = %(viewer)s::varchar)

-- memory -- One memory.
SELECT {columns} FROM gp_memory m
WHERE m.id = %(id)s::uuid AND m.workspace_id = %(workspace)s::uuid AND {seen}

-- of_key -- The memory of an activity.
SELECT {columns} FROM gp_memory m WHERE m.workspace_id = %s::uuid AND m.key = %s::varchar

-- is_there -- Whether a memory is one of the workspace.
SELECT m.id FROM gp_memory m WHERE m.id = %s::uuid AND m.workspace_id = %s::uuid

-- memories -- Memories of a workspace, the newest first, after the last of the page before.
SELECT {columns} FROM gp_memory m
WHERE m.workspace_id = %(workspace)s::uuid AND {seen}
  AND {narrowed}
  AND (%(after)s::uuid IS NULL OR (m.created_at, m.id) < (
    SELECT a.created_at, a.id FROM gp_memory a WHERE a.id = %(after)s::uuid))
ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s

-- query -- Any of the words of a text, without those that say nothing.
SELECT replace(plainto_tsquery('english', %s::text)::text, ' & ', ' | ') AS query

-- search -- The best of the newest memories of a workspace with any of these words.
SELECT {columns} FROM (
  SELECT * FROM gp_memory m
  WHERE m.workspace_id = %(workspace)s::uuid AND m.words @@ %(words)s::tsquery AND {seen}
    AND {narrowed}
  ORDER BY m.created_at DESC, m.id DESC LIMIT %(hits)s) m
ORDER BY ts_rank(m.words, %(words)s::tsquery, 1) DESC, m.created_at DESC, m.id DESC LIMIT %(limit)s

-- search_near -- Those of these memories of a workspace that a search can find.
SELECT {columns} FROM gp_memory m
WHERE m.id = ANY(%(ids)s::uuid[]) AND m.workspace_id = %(workspace)s::uuid AND m.gone_at IS NULL
  AND {seen} AND {narrowed}

-- wanted -- A place that is asked for and has an owner, as all but the workspace need one.
p.scope = ANY(%(scopes)s::text[]) AND (p.owner <> '' OR p.scope = 'workspace')

-- places -- Whose memory a thread reads, and until when: what a base remembers after the fork is its own.
RECURSIVE lineage AS (
  SELECT th.id, th.base, th.created_at, 'infinity'::timestamptz AS until FROM gp_thread th
  WHERE th.id = %(thread)s::uuid
  UNION ALL
  SELECT b.id, b.base, b.created_at, least(l.until, l.created_at)
  FROM lineage l JOIN gp_thread b ON b.id = l.base
), places AS (
  SELECT p.scope, p.owner, p.until FROM (
    SELECT 'thread' AS scope, l.id::text AS owner, l.until FROM lineage l
    UNION ALL SELECT 'agent', %(agent)s::text, 'infinity'
    UNION ALL SELECT 'person', %(person)s::text, 'infinity'
    UNION ALL SELECT 'workspace', '', 'infinity') p
  WHERE {wanted}
)

-- readable -- A memory that a thread reads: of one of its places, kept, not expired.
m.workspace_id = %(workspace)s::uuid AND m.scope = p.scope AND m.owner = p.owner
  AND m.created_at <= p.until AND m.gone_at IS NULL AND m.kind = ANY(%(kinds)s::text[])
  AND (m.expires_at IS NULL OR m.expires_at > clock_timestamp())

-- worded -- Of a place the newest memories with any of these words.
SELECT m.id, m.created_at, m.words FROM gp_memory m
WHERE {wanted} AND {readable} AND m.words @@ %(words)s::tsquery
ORDER BY m.created_at DESC, m.id DESC LIMIT %(hits)s

-- recall -- The best of the newest memories that a thread reads with any of these words. Where a word is common, those of a
-- place are found in their order without reading all that have it. The three places that may have very many are
-- written out: of a joined place the planner would take each to have a share of all memories.
WITH {places}
SELECT {columns}, n.rank FROM (
  SELECT n.id, ts_rank(n.words, %(words)s::tsquery, 1) AS rank FROM (
    SELECT n.* FROM (
      SELECT n.* FROM (SELECT * FROM places p WHERE p.scope = 'thread') p CROSS JOIN LATERAL ({worded}) n
      UNION ALL
      SELECT n.* FROM (VALUES ('agent', %(agent)s::text, 'infinity'::timestamptz)) p (scope, owner, until)
      CROSS JOIN LATERAL ({worded}) n
      UNION ALL
      SELECT n.* FROM (VALUES ('person', %(person)s::text, 'infinity'::timestamptz)) p (scope, owner, until)
      CROSS JOIN LATERAL ({worded}) n
      UNION ALL
      SELECT n.* FROM (VALUES ('workspace', '', 'infinity'::timestamptz)) p (scope, owner, until)
      CROSS JOIN LATERAL ({worded}) n) n
    ORDER BY n.created_at DESC, n.id DESC LIMIT %(hits)s) n
  ORDER BY rank DESC, n.created_at DESC, n.id DESC LIMIT %(limit)s) n
JOIN gp_memory m ON m.id = n.id
ORDER BY n.rank DESC, m.created_at DESC, m.id DESC

-- recall_newest -- The newest memories that a thread reads.
WITH {places}
SELECT {columns}, 0 AS rank FROM places p JOIN gp_memory m ON {readable}
WHERE %(hits)s > 0
ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s

-- reach -- Whose memory a thread reads.
WITH {places} SELECT DISTINCT p.scope, p.owner FROM places p

-- near -- Those of these memories that a thread reads.
WITH {places}
SELECT {columns} FROM places p JOIN gp_memory m ON {readable} WHERE m.id = ANY(%(ids)s::uuid[])

-- named -- Memories of a workspace by their ids.
SELECT {columns} FROM gp_memory m WHERE m.id = ANY(%s::uuid[]) AND m.workspace_id = %s::uuid

-- expired -- Those of these memories that have expired, but whose texts are not deleted yet.
SELECT m.id FROM gp_memory m WHERE m.id = ANY(%s::uuid[]) AND m.workspace_id = %s::uuid
  AND m.expires_at <= clock_timestamp() AND m.gone_at IS NULL

-- former -- The texts of a memory before it was corrected, the newest first.
SELECT x.revision, x.text, x.author, x.written_at FROM gp_memory_text x
WHERE x.memory_id = %s::uuid ORDER BY x.revision DESC

-- texts_at -- Former texts by memory and revision.
SELECT x.memory_id, x.revision, x.text, x.metadata::text AS metadata FROM gp_memory_text x
JOIN unnest(%s::uuid[], %s::integer[]) AS r (memory_id, revision)
  ON (x.memory_id, x.revision) = (r.memory_id, r.revision)

-- after -- What a thread has remembered after a step of its way and still knows, oldest first.
SELECT {columns} FROM gp_memory m
WHERE m.thread_id = %s::uuid AND m.gone_at IS NULL
  AND (m.branch > %s::integer OR (m.branch = %s::integer AND m.step > %s::integer))
ORDER BY m.created_at, m.id LIMIT %s

-- counted -- How many memories came from threads or are theirs, and how many of them others read.
SELECT count(*) AS n, count(*) FILTER (WHERE m.scope <> 'thread') AS shared FROM gp_memory m
WHERE m.workspace_id = %s::uuid AND m.gone_at IS NULL
  AND (m.thread_id = ANY(%s::uuid[]) OR (m.scope = 'thread' AND m.owner = ANY(%s::text[])))

-- of_place -- An item of a store that is kept and has not expired.
m.workspace_id = %(workspace)s::uuid AND m.metadata ? '$item' AND m.gone_at IS NULL
  AND (m.expires_at IS NULL OR m.expires_at > clock_timestamp())

-- item -- The newest memory that is this item.
SELECT {columns} FROM gp_memory m
WHERE {of_place} AND m.scope = %(scope)s::varchar AND m.owner = %(owner)s::varchar
  AND m.metadata -> '$item' ->> 'namespace' = %(namespace)s::text
  AND m.metadata -> '$item' ->> 'key' = %(key)s::text
ORDER BY m.created_at DESC, m.id DESC LIMIT 1

-- items -- Items below a namespace, the last ones written first, or the best for some words.
SELECT {columns} FROM unnest(%(scopes)s::text[], %(owners)s::text[]) AS p (scope, owner)
JOIN gp_memory m ON m.scope = p.scope AND m.owner = p.owner
WHERE {of_place} AND (%(below)s::text = ''
    OR starts_with((m.metadata -> '$item' ->> 'namespace') || '.', %(below)s::text || '.'))
  AND (%(words)s::text = '' OR m.words @@ %(words)s::tsquery)
ORDER BY CASE WHEN %(words)s::text <> '' THEN ts_rank(m.words, %(words)s::tsquery, 1) END DESC,
  coalesce(m.revised_at, m.created_at) DESC, m.id DESC
LIMIT %(limit)s OFFSET %(offset)s

-- item_namespaces -- Namespaces that have items, with the scope of those.
SELECT DISTINCT m.scope, m.metadata -> '$item' ->> 'namespace' AS namespace
FROM unnest(%(scopes)s::text[], %(owners)s::text[]) AS p (scope, owner)
JOIN gp_memory m ON m.scope = p.scope AND m.owner = p.owner
WHERE {of_place}

-- newest_of_c -- The newest keyframe in the branch of checkpoint c, at or before it.
(SELECT max(k.number) FROM gp_keyframe k WHERE k.thread_id = c.thread_id
  AND k.number BETWEEN c.branch_start AND c.number)

-- newest_of_p -- The same for checkpoint p.
(SELECT max(k.number) FROM gp_keyframe k WHERE k.thread_id = p.thread_id
  AND k.number BETWEEN p.branch_start AND p.number)

-- newest_range -- The range that ends with checkpoint c, and what c claims of its state.
SELECT c.thread_id, c.number AS hi, c.branch_start AS lo, 0 AS depth,
  jsonb_build_object('hash', encode(c.state_hash, 'hex'), 'schema_version', c.schema_version,
    'agent_version', c.agent_version_id) AS claims

-- range_before -- The range before another, in the branch that its first checkpoint left.
SELECT p.thread_id, p.number, p.branch_start, s.depth + 1, NULL::jsonb

-- origin -- Where the first checkpoint of a range comes from; not asked beyond a keyframe.
FROM seg s
JOIN gp_checkpoint f ON f.thread_id = s.thread_id AND f.number = s.lo
JOIN gp_checkpoint p ON p.thread_id = f.parent_thread AND p.number = f.parent_number
WHERE s.kf IS NULL

-- bodies -- Ranges from the newest to the oldest, the keyframe, deltas from the oldest on.
-- The parts of a UNION ALL come one after the other, and a nested loop keeps the order of both its
-- sides. Blocks are counted by an array, of which the planner expects ten members: of a series it
-- expects 1,000, and what it believes to be dear is compiled first where PostgreSQL can do that.
SELECT NULL::integer AS place, s.depth AS rows, json_build_array(s.thread_id,
  coalesce(s.kf + 1, s.lo), s.hi, s.kf, s.claims)::text AS body FROM seg s
UNION ALL
SELECT -1, 0, k.state
  FROM seg s, LATERAL (SELECT x.state FROM gp_keyframe x
    WHERE x.thread_id = s.thread_id AND x.number = s.kf OFFSET 0) k
UNION ALL
SELECT b.first, c.rows, c.body
  FROM (SELECT s.thread_id, coalesce(s.kf + 1, s.lo) AS lo, s.hi FROM seg s
    ORDER BY s.depth DESC OFFSET 0) r,
    LATERAL (SELECT greatest(r.lo, n * {block}) AS first,
    least(r.hi, n * {block} + {block} - 1) AS last
    FROM unnest(ARRAY(SELECT generate_series(r.lo / {block}, r.hi / {block}))) n
    WHERE r.lo <= r.hi) b,
    LATERAL (SELECT count(*)::integer AS rows,
    string_agg(x.delta::text, chr(10) ORDER BY x.number) AS body
    FROM gp_checkpoint x WHERE x.thread_id = r.thread_id
    AND x.number BETWEEN b.first AND b.last OFFSET 0) c

-- from_newest -- Ranges from a checkpoint back to the newest keyframe on the way.
WITH RECURSIVE seg AS (
  {newest_range}, {newest_of_c} AS kf
  FROM gp_checkpoint c WHERE c.thread_id = %s::uuid AND c.id = %s::uuid
  UNION ALL
  {range_before}, {newest_of_p} {origin}
)

-- state -- What the state at a checkpoint is made of.
{from_newest}
{bodies}

-- state_of_head -- What the state at the head of the thread is made of, as the head is then.
WITH RECURSIVE seg AS (
  {newest_range}, {newest_of_c} AS kf
  FROM gp_checkpoint c
  WHERE c.thread_id = %s::uuid AND c.id = (SELECT h.head FROM gp_thread h WHERE h.id = %s::uuid)
  UNION ALL
  {range_before}, {newest_of_p} {origin}
)
{bodies}

-- state_from_deltas -- What it is made of without keyframes: all deltas from the first input on.
WITH RECURSIVE seg AS (
  {newest_range}, NULL::integer AS kf
  FROM gp_checkpoint c WHERE c.thread_id = %s::uuid AND c.id = %s::uuid
  UNION ALL
  {range_before}, NULL::integer {origin}
)
{bodies}

-- ranges -- How many ranges a read of the state goes through.
{from_newest}
SELECT count(*) FROM seg

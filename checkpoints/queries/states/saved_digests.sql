-- newest_of_c -- The newest checkpoint at or before c that kept digests, in its branch and reach.
(SELECT max(k.number) FROM gp_checkpoint k WHERE k.thread_id = c.thread_id
  AND k.number BETWEEN greatest(c.branch_start, c.number - {every} + 1) AND c.number
  AND k.digests IS NOT NULL)

-- newest_of_p -- The same for checkpoint p.
(SELECT max(k.number) FROM gp_checkpoint k WHERE k.thread_id = p.thread_id
  AND k.number BETWEEN greatest(p.branch_start, p.number - {every} + 1) AND p.number
  AND k.digests IS NOT NULL)

-- digests -- The digests last kept before a checkpoint, then the deltas up to it.
-- Its own row comes last, with its hash, size and the channels of its agent version.
WITH RECURSIVE seg AS (
  SELECT c.thread_id, c.number AS hi, c.branch_start AS lo, 0 AS depth,
         {newest_of_c} AS kept, encode(c.state_hash, 'hex') AS root, c.state_bytes,
         c.agent_version_id
  FROM gp_checkpoint c WHERE c.thread_id = %s::uuid AND c.id = %s::uuid
  UNION ALL
  SELECT p.thread_id, p.number, p.branch_start, s.depth + 1, {newest_of_p},
         NULL, NULL, NULL
  FROM seg s
  JOIN gp_checkpoint f ON f.thread_id = s.thread_id AND f.number = s.lo
  JOIN gp_checkpoint p ON p.thread_id = f.parent_thread AND p.number = f.parent_number
  WHERE s.kept IS NULL AND s.hi - s.lo < {every} AND s.depth < {ranges}
)
SELECT s.root, s.state_bytes AS size, CASE WHEN x.number = s.hi THEN (SELECT v.channels::text
    FROM gp_agent_version v WHERE v.id = s.agent_version_id) END AS channels,
  x.parent IS NULL AS is_first_input,
  encode(CASE WHEN x.number = s.kept THEN x.digests END, 'hex') AS saved,
  CASE WHEN x.number = s.kept THEN NULL ELSE x.delta::text END AS delta
FROM seg s, LATERAL (
  SELECT c.number, c.parent, c.digests, c.delta FROM gp_checkpoint c
  WHERE c.thread_id = s.thread_id AND c.number BETWEEN
    coalesce(s.kept, greatest(s.lo, s.hi - {every} + 1)) AND s.hi OFFSET 0) x
ORDER BY s.depth DESC, x.number

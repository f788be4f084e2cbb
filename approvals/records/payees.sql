-- named -- Threads with a request, an edit or an effect that names the payee. The indexes answer with
-- all that have the same pieces of three characters; whether an event fits is asked afterwards.
-- A value too long for the index has the piece `*`.
WITH parts AS MATERIALIZED (SELECT gp_parts(%(payee)s::text) AS looked_for),
named AS (
  (SELECT DISTINCT x.thread_id FROM gp_activity x WHERE x.kind = 'effect'
    AND (gp_payee_parts(x.args) @> (SELECT looked_for FROM parts)
      OR gp_payee_parts(x.args) @> '{*}')
    AND x.workspace_id = %(workspace)s::uuid LIMIT %(most)s)
  UNION (SELECT DISTINCT a.thread_id FROM gp_approval a
    WHERE (gp_payee_parts(a.args) @> (SELECT looked_for FROM parts)
      OR gp_payee_parts(a.args) @> '{*}')
    AND a.workspace_id = %(workspace)s::uuid LIMIT %(most)s)
  UNION (SELECT DISTINCT a.thread_id FROM gp_decision d JOIN gp_approval a ON a.id = d.approval_id
    WHERE d.args IS NOT NULL AND (gp_payee_parts(d.args) @> (SELECT looked_for FROM parts)
      OR gp_payee_parts(d.args) @> '{*}')
    AND d.workspace_id = %(workspace)s::uuid LIMIT %(most)s))
SELECT th.id, th.last_seq FROM named n JOIN gp_thread th ON th.id = n.thread_id LIMIT %(most)s

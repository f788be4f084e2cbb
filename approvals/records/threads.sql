-- named -- Threads with a request, an edit or an effect that may name the payee: the indexes know
-- trigrams only, so whether an event fits is checked afterwards. A value that is too long for the
-- index has the entry `*`.
WITH wanted AS MATERIALIZED (SELECT gp_trigrams(%(payee)s::text) AS trigrams),
named AS (
  (SELECT DISTINCT x.thread_id FROM gp_activity x WHERE x.kind = 'effect'
    AND (gp_payee_trigrams(x.args) @> (SELECT trigrams FROM wanted)
      OR gp_payee_trigrams(x.args) @> '{*}')
    AND x.workspace_id = %(workspace)s::uuid LIMIT %(most)s)
  UNION (SELECT DISTINCT a.thread_id FROM gp_approval a
    WHERE (gp_payee_trigrams(a.args) @> (SELECT trigrams FROM wanted)
      OR gp_payee_trigrams(a.args) @> '{*}')
    AND a.workspace_id = %(workspace)s::uuid LIMIT %(most)s)
  UNION (SELECT DISTINCT a.thread_id FROM gp_decision d JOIN gp_approval a ON a.id = d.approval_id
    WHERE d.args IS NOT NULL AND (gp_payee_trigrams(d.args) @> (SELECT trigrams FROM wanted)
      OR gp_payee_trigrams(d.args) @> '{*}')
    AND d.workspace_id = %(workspace)s::uuid LIMIT %(most)s))
SELECT th.id, th.last_seq FROM named n JOIN gp_thread th ON th.id = n.thread_id LIMIT %(most)s

-- of_agent -- Threads of an agent, in any order.
SELECT th.id, th.last_seq FROM gp_thread th
WHERE th.workspace_id = %(workspace)s::uuid AND th.agent = %(agent)s::text LIMIT %(most)s

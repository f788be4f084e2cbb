-- Pure functions of a request's own columns, so that indexes can hold what they say.

-- gp_seats: who may be asked by the terms of a request: 'user:<name>', 'team:<name>', '*' for every
-- reviewer. Since whose turn it is stands in due_seats, only processes of the former release call
-- it.
CREATE FUNCTION gp_seats(terms jsonb, escalated boolean) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 200 AS $$
SELECT CASE WHEN terms IS NULL OR NOT jsonb_path_exists(terms, '$.stages[*].people') THEN ARRAY['*']
ELSE ARRAY(
  SELECT CASE found ->> 'key' WHEN 'people' THEN 'user:' ELSE 'team:' END || (named #>> '{}')
  FROM jsonb_path_query(CASE WHEN escalated THEN jsonb_build_array(terms -> 'stages',
      terms -> 'escalate_to') ELSE jsonb_build_array(terms -> 'stages') END,
    '$[*][*].keyvalue() ? (@.key == "people" || @.key == "teams")', '{}', true) found,
    jsonb_path_query(found -> 'value', '$[*]') named
  UNION ALL SELECT '*' WHERE jsonb_path_exists(terms,
    '$.stages[*] ? (!exists(@.people[*]) && !exists(@.teams[*]))')
) END $$;

-- gp_risk: the place of a risk in the order of the inbox, highest first.
CREATE FUNCTION gp_risk(risk text) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT (CASE risk WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END)::smallint $$;

-- gp_shape: equal for requests that differ only in the numbers of their titles; the inbox stacks
-- them.
CREATE FUNCTION gp_shape(version uuid, tool text, policy text, risk text, title text)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT hashtextextended(version::text || chr(31) || tool || chr(31) || policy || chr(31) || risk
  || chr(31) || regexp_replace(title, '[0-9]+', '#', 'g'), 0) $$;

-- Requests that wait, in the orders and groups of the inbox.
CREATE INDEX gp_approval_by_risk
  ON gp_approval (workspace_id, gp_risk(risk), requested_at, id) WHERE status = 'pending';
CREATE INDEX gp_approval_by_due ON gp_approval
  (workspace_id, coalesce(decide_by, deadline, 'infinity'::timestamptz), requested_at, id)
  WHERE status = 'pending';
CREATE INDEX gp_approval_alike ON gp_approval
  (workspace_id, gp_shape(agent_version_id, tool, policy_version, risk, title), requested_at, id)
  WHERE status = 'pending';

-- Requests that are decided, newest first, and verdicts by time, by person and by kind.
CREATE INDEX gp_approval_done ON gp_approval
  (workspace_id, coalesce(decided_at, requested_at) DESC, id DESC) WHERE status <> 'pending';
CREATE INDEX gp_decision_recent ON gp_decision (workspace_id, at);
CREATE INDEX gp_decision_person ON gp_decision (workspace_id, split_part(reviewer, '/', 1), at);
CREATE INDEX gp_decision_verdicts ON gp_decision (verdict);

-- Requests with a reminder to come; the sweep looks for them every few seconds.
CREATE INDEX gp_approval_reminds ON gp_approval (requested_at)
  WHERE status = 'pending' AND jsonb_array_length(terms -> 'reminders') > reminded;

-- How many requests are due, and how many of which risk: of an expression in a partial index the
-- planner believes no figures, and takes a third of all requests to be due.
CREATE STATISTICS gp_approval_dues
  ON (coalesce(decide_by, deadline, 'infinity'::timestamptz)) FROM gp_approval;
CREATE STATISTICS gp_approval_risks ON (gp_risk(risk)) FROM gp_approval;

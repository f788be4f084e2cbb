-- columns -- Columns of a budget, in the order of its record.
b.id, b.workspace_id, b.scope, b.name, b.max_tokens, b.max_cost, b.at_full, b.active, b.number

-- budgets -- The budgets of a workspace: its own, then by agent and by team.
SELECT {columns} FROM gp_budget b WHERE b.workspace_id = %(workspace)s::uuid
ORDER BY array_position(ARRAY['workspace', 'agent', 'team'], b.scope::text), b.name

-- month -- The database's clock, and which bands of the present budgets were reached this month.
SELECT clock_timestamp() AS now, coalesce((SELECT json_object_agg(r.budget_id, r.bands)::text
  FROM (SELECT k.budget_id, array_agg(k.band) AS bands FROM gp_budget_band k
    JOIN gp_budget b ON b.id = k.budget_id AND b.number = k.number
    WHERE k.workspace_id = %(workspace)s::uuid
      AND k.month = date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC')::date
    GROUP BY k.budget_id) r), '{}') AS reached

-- budgeted -- Workspaces that have a budget which is on.
SELECT DISTINCT b.workspace_id FROM gp_budget b WHERE b.active ORDER BY 1

-- stops -- Whether a budget of a workspace is on and stops its threads.
SELECT EXISTS (SELECT 1 FROM gp_budget b WHERE b.workspace_id = %(workspace)s::uuid AND b.active
  AND b.at_full = 'stop')

-- reached -- Budgets of a workspace of which 80 or 100 per cent is spent this month, as JSON; null for none.
SELECT json_agg(x ORDER BY x.band DESC, x.scope, x.name)::text FROM (
  SELECT DISTINCT ON (b.id) b.scope, b.name, k.band, k.breaker_id IS NOT NULL AS stopped
  FROM gp_budget_band k JOIN gp_budget b ON b.id = k.budget_id AND b.number = k.number
  WHERE k.workspace_id = %s::uuid AND b.active
    AND k.month = date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC')::date
  ORDER BY b.id, k.band DESC) x

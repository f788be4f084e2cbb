"""Indexes for the boxes of the inbox, who is asked as a list, and who opened which request."""

import django.db.models.functions.datetime
from django.db import migrations, models

# Pure functions of a row's own columns, so that indexes can hold what they say.
FUNCTIONS = """
CREATE OR REPLACE FUNCTION gp_seats(terms jsonb, escalated boolean) RETURNS text[]
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
CREATE OR REPLACE FUNCTION gp_risk(risk text) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT (CASE risk WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END)::smallint $$;
CREATE OR REPLACE FUNCTION gp_shape(version uuid, tool text, policy text, risk text, title text)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT hashtextextended(version::text || chr(31) || tool || chr(31) || policy || chr(31) || risk
  || chr(31) || regexp_replace(title, '[0-9]+', '#', 'g'), 0) $$;
"""
DROP_FUNCTIONS = """
DROP FUNCTION gp_seats(jsonb, boolean);
DROP FUNCTION gp_risk(text);
DROP FUNCTION gp_shape(uuid, text, text, text, text);
"""
INDEXES = {
    "gp_approval_by_risk": "gp_approval (workspace_id, gp_risk(risk), requested_at, id) "
    "WHERE status = 'pending'",
    "gp_approval_by_due": "gp_approval (workspace_id, "
    "coalesce(decide_by, deadline, 'infinity'::timestamptz), requested_at, id) "
    "WHERE status = 'pending'",
    "gp_approval_by_seat": "gp_approval USING gin (gp_seats(terms, escalated_at IS NOT NULL)) "
    "WHERE status = 'pending'",
    "gp_approval_alike": "gp_approval (workspace_id, "
    "gp_shape(agent_version_id, tool, policy_version, risk, title), requested_at, id) "
    "WHERE status = 'pending'",
    "gp_approval_done": "gp_approval (workspace_id, coalesce(decided_at, requested_at) DESC, "
    "id DESC) WHERE status <> 'pending'",
    "gp_decision_recent": "gp_decision (workspace_id, at)",
    "gp_decision_person": "gp_decision (workspace_id, split_part(reviewer, '/', 1), at)",
}
# Of a partial index the planner believes no figures: without these it would sort all requests of a
# large team, or walk through those of everybody for a person with five.
FIGURES = """
CREATE STATISTICS IF NOT EXISTS gp_approval_seats
  ON (gp_seats(terms, escalated_at IS NOT NULL)) FROM gp_approval
"""
GUARDS = """
CREATE TRIGGER gp_approval_look_row BEFORE UPDATE OR DELETE ON gp_approval_look
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_approval_look_table BEFORE TRUNCATE ON gp_approval_look
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
"""


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("approvals", "0008_hooks")]
    operations = [
        migrations.CreateModel(
            name="Look",
            fields=[
                ("pk", models.CompositePrimaryKey("approval_id", "person", blank=True, editable=False, primary_key=True, serialize=False)),
                ("workspace_id", models.UUIDField()),
                ("approval_id", models.UUIDField()),
                ("person", models.CharField(max_length=200)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={"db_table": "gp_approval_look"},
        ),
        migrations.RunSQL(GUARDS, migrations.RunSQL.noop),
        migrations.RunSQL(FUNCTIONS, DROP_FUNCTIONS),
        migrations.RunSQL(FIGURES, "DROP STATISTICS IF EXISTS gp_approval_seats"),
        *(
            migrations.RunSQL(sql, back)
            for name, what in INDEXES.items()
            for sql, back in (
                (f"DROP INDEX CONCURRENTLY IF EXISTS {name}", migrations.RunSQL.noop),
                (
                    f"CREATE INDEX CONCURRENTLY {name} ON {what}",
                    f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
                ),
            )
        ),
    ]

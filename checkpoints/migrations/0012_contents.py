"""Large values by reference: their table, kept as it was written, and gp_state that fills them in."""

import django.db.models.deletion
from django.db import migrations, models

GUARDS = """
CREATE TRIGGER gp_content_row BEFORE UPDATE OR DELETE ON gp_content
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_content_table BEFORE TRUNCATE ON gp_content
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
"""

# As in 0008, and `put`: what lies in a file stays {"$content": sha256, "size": bytes} here.
STATE = """
CREATE OR REPLACE FUNCTION gp_state(wanted_thread uuid, wanted uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
  state jsonb := '{}'::jsonb;
  part record;
  member record;
BEGIN
  FOR part IN
    WITH RECURSIVE seg AS (
      SELECT c.thread_id, c.number AS hi, c.branch_start AS lo, 0 AS depth
      FROM gp_checkpoint c WHERE c.thread_id = wanted_thread AND c.id = wanted
      UNION ALL
      SELECT p.thread_id, p.number, p.branch_start, s.depth + 1
      FROM seg s
      JOIN gp_checkpoint f ON f.thread_id = s.thread_id AND f.number = s.lo
      JOIN gp_checkpoint p ON p.thread_id = f.parent_thread AND p.number = f.parent_number
    )
    SELECT c.thread_id, c.delta FROM seg s JOIN gp_checkpoint c ON c.thread_id = s.thread_id
      AND c.number BETWEEN s.lo AND s.hi ORDER BY s.depth DESC, c.number
  LOOP
    IF part.delta ? 'set' THEN
      state := state || (part.delta -> 'set');
    END IF;
    FOR member IN SELECT key, value FROM jsonb_each(coalesce(part.delta -> 'put', '{}')) LOOP
      state := state || jsonb_build_object(member.key, coalesce(
        (SELECT g.body::jsonb FROM gp_content g WHERE g.thread_id = part.thread_id
           AND g.sha256 = member.value ->> 'sha256'),
        jsonb_build_object('$content', member.value -> 'sha256', 'size', member.value -> 'size')));
    END LOOP;
    FOR member IN SELECT key, value FROM jsonb_each(coalesce(part.delta -> 'append', '{}')) LOOP
      state := jsonb_set(state, ARRAY[member.key],
                         coalesce(state -> member.key, '[]'::jsonb) || member.value);
    END LOOP;
    FOR member IN SELECT key, value FROM jsonb_each(coalesce(part.delta -> 'merge', '{}')) LOOP
      state := jsonb_set(state, ARRAY[member.key],
                         coalesce(state -> member.key, '{}'::jsonb) || member.value);
    END LOOP;
    IF part.delta ? 'unset' THEN
      state := state - ARRAY(SELECT jsonb_array_elements_text(part.delta -> 'unset'));
    END IF;
  END LOOP;
  RETURN state;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0011_imports")]
    operations = [
        migrations.CreateModel(
            name="Content",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "thread_id",
                        "sha256",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("sha256", models.CharField(max_length=64)),
                ("workspace_id", models.UUIDField()),
                ("body", models.TextField()),
                (
                    "thread",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        to="checkpoints.thread",
                    ),
                ),
            ],
            options={"db_table": "gp_content"},
        ),
        migrations.RunSQL(GUARDS, migrations.RunSQL.noop),
        migrations.RunSQL(STATE, migrations.RunSQL.noop),
    ]

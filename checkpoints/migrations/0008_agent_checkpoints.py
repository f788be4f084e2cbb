"""A view for whoever reads checkpoints with plain SQL: text ids and the whole state as bytes."""

from django.db import migrations

# The same way back as in checkpoints.history, and the same operations as in checkpoints.deltas;
# a test compares the two for random histories.
STATE = """
CREATE FUNCTION gp_state(wanted_thread uuid, wanted uuid) RETURNS jsonb
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
    SELECT c.delta FROM seg s JOIN gp_checkpoint c ON c.thread_id = s.thread_id
      AND c.number BETWEEN s.lo AND s.hi ORDER BY s.depth DESC, c.number
  LOOP
    IF part.delta ? 'set' THEN
      state := state || (part.delta -> 'set');
    END IF;
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

# A fork begins with a checkpoint whose parent lies in its base: it is found under both ids.
VIEW = """
CREATE VIEW agent_checkpoints AS
SELECT c.thread_id::text::varchar(255) AS thread_id, c.id::text::varchar(255) AS checkpoint_id,
  c.parent::text::varchar(255) AS parent_checkpoint_id,
  convert_to(gp_state(c.thread_id, c.id)::text, 'UTF8') AS state_payload, c.created_at
FROM gp_checkpoint c
UNION ALL
SELECT c.parent_thread::text::varchar(255), c.id::text::varchar(255),
  c.parent::text::varchar(255), convert_to(gp_state(c.thread_id, c.id)::text, 'UTF8'),
  c.created_at
FROM gp_checkpoint c WHERE c.number = 0 AND c.parent_thread <> c.thread_id
"""


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0007_keyframe_text")]
    operations = [
        migrations.RunSQL(STATE, "DROP FUNCTION gp_state(uuid, uuid)"),
        migrations.RunSQL(VIEW, "DROP VIEW agent_checkpoints"),
    ]

"""The first checkpoint of a fork of a fork is found under the thread where the chain began."""

from django.db import migrations

# A checkpoint is found under its own thread; the first of a fork also wherever its base is.
FOUND_UNDER = """
CREATE FUNCTION gp_found_under(at_thread uuid, at_number integer) RETURNS SETOF uuid
LANGUAGE sql STABLE AS $$
  WITH RECURSIVE up AS (
    SELECT at_thread AS thread_id, at_number AS number
    UNION
    SELECT f.parent_thread, f.parent_number FROM up
    JOIN gp_checkpoint f ON f.thread_id = up.thread_id AND f.number = 0
    WHERE up.number = 0 AND f.parent_thread <> f.thread_id
  )
  SELECT thread_id FROM up
$$;
"""
OWN = """
CREATE OR REPLACE VIEW agent_checkpoints AS
SELECT c.thread_id::text::varchar(255) AS thread_id, c.id::text::varchar(255) AS checkpoint_id,
  c.parent::text::varchar(255) AS parent_checkpoint_id,
  convert_to(gp_state(c.thread_id, c.id)::text, 'UTF8') AS state_payload, c.created_at
FROM gp_checkpoint c
UNION ALL
"""
VIEW = f"""{OWN}
SELECT b.thread_id::text::varchar(255), c.id::text::varchar(255),
  c.parent::text::varchar(255), convert_to(gp_state(c.thread_id, c.id)::text, 'UTF8'),
  c.created_at
FROM gp_checkpoint c, LATERAL gp_found_under(c.parent_thread, c.parent_number) AS b (thread_id)
WHERE c.number = 0 AND c.parent_thread <> c.thread_id
"""
FORMER = f"""{OWN}
SELECT c.parent_thread::text::varchar(255), c.id::text::varchar(255),
  c.parent::text::varchar(255), convert_to(gp_state(c.thread_id, c.id)::text, 'UTF8'),
  c.created_at
FROM gp_checkpoint c WHERE c.number = 0 AND c.parent_thread <> c.thread_id
"""


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0017_one_index_less")]
    operations = [
        migrations.RunSQL(FOUND_UNDER, "DROP FUNCTION gp_found_under(uuid, integer)"),
        migrations.RunSQL(VIEW, FORMER),
    ]

"""An index over effects without a request, by the database's time: policies are tested on them."""

from django.db import migrations

DROP = "DROP INDEX CONCURRENTLY IF EXISTS gp_activity_effects"
CREATE = """
CREATE INDEX CONCURRENTLY gp_activity_effects ON gp_activity
  (workspace_id, started_at DESC, id DESC) WHERE kind = 'effect' AND approval_id IS NULL
"""


class Migration(migrations.Migration):
    # Concurrently: a large log can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0002_spent_by_day")]
    operations = [
        migrations.RunSQL(DROP, migrations.RunSQL.noop),
        migrations.RunSQL(CREATE, DROP),
    ]

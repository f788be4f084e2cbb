"""An index over what cost money, by the database's time of its end: caps per day add it up."""

from django.db import migrations

DROP = "DROP INDEX CONCURRENTLY IF EXISTS gp_activity_spent"
CREATE = """
CREATE INDEX CONCURRENTLY gp_activity_spent ON gp_activity (workspace_id, finished_at)
  WHERE usage ? 'cost'
"""


class Migration(migrations.Migration):
    # Concurrently: a large log can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    replaces = [("checkpoints", "0026_spent_by_day")]  # its name before the squash
    dependencies = [("checkpoints", "0001_schema")]
    operations = [
        migrations.RunSQL(DROP, migrations.RunSQL.noop),
        migrations.RunSQL(CREATE, DROP),
    ]

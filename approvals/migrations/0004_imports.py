"""Which requests came with a capsule: who decided those is known to another installation."""

from django.db import migrations, models

KNOWN = """
UPDATE gp_approval a SET imported = true FROM gp_event i JOIN gp_event e
  ON e.thread_id = i.thread_id AND e.kind = 'approval.requested'
  AND e.seq <= (i.data ->> 'seq')::bigint
WHERE i.kind = 'thread.imported' AND NOT i.data ? 'checkpoint'
  AND a.thread_id = e.thread_id AND a.id = (e.data ->> 'approval')::uuid
"""


class Migration(migrations.Migration):
    dependencies = [("approvals", "0003_figures")]
    operations = [
        migrations.AddField("approval", "imported", models.BooleanField(db_default=False)),
        migrations.RunSQL(KNOWN, migrations.RunSQL.noop),
    ]

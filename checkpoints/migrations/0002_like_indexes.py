"""Drop indexes for LIKE, which Django adds to each indexed text and no statement reads.

Django makes them after all operations of a migration: the schema itself cannot leave them out.
"""

from django.db import migrations

DROP = """
DROP INDEX IF EXISTS
  gp_anchor_destination_name_16154a68_like,
  gp_duty_name_8ca5e0f2_like,
  gp_span_export_name_d77186bb_like,
  gp_worker_id_5928394b_like,
  gp_workspace_name_3f8a097e_like
"""


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0001_schema")]
    operations = [migrations.RunSQL(DROP, migrations.RunSQL.noop)]

"""Where the past of an imported thread ends: ids of people up to there are another installation's.

A thread that was imported before this migration told its event only: up to which checkpoint the
past came with it is not known there, so all it has now count as brought along.
"""

from django.db import migrations, models

KNOWN = """
UPDATE gp_thread th SET imported_seq = e.seq, imported_number = th.number FROM (
  SELECT thread_id, max((data ->> 'seq')::bigint) AS seq FROM gp_event
  WHERE kind = 'thread.imported' AND NOT data ? 'checkpoint' GROUP BY thread_id
) e WHERE th.id = e.thread_id
"""


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0010_model_calls")]
    operations = [
        migrations.AddField("thread", "imported_seq", models.BigIntegerField(db_default=0)),
        migrations.AddField("thread", "imported_number", models.IntegerField(db_default=-1)),
        migrations.RunSQL(KNOWN, migrations.RunSQL.noop),
    ]

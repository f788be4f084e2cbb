"""Drop the index for LIKE that Django adds to the name of a position; no statement reads it."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0010_history_index")]
    operations = [
        migrations.RunSQL(
            "DROP INDEX IF EXISTS gp_index_position_name_8249549f_like", migrations.RunSQL.noop
        )
    ]

"""Drop indexes for LIKE, which Django adds to each indexed text and no statement reads.

Django makes them after all operations of a migration: the schema itself cannot leave them out.
"""

from django.db import migrations

DROP = """
DROP INDEX IF EXISTS
  gp_sign_in_session_key_9fe9dd32_like,
  gp_token_prefix_64ab6e93_like
"""


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0001_schema")]
    operations = [migrations.RunSQL(DROP, migrations.RunSQL.noop)]

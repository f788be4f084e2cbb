"""A call of a model is an activity of its own kind.

NOT VALID: what is stored has one of the kinds of before, so nothing has to be read again.
"""

from django.db import migrations

# Repeats the list of checkpoints.states; a test compares them.
KINDS = """
ALTER DOMAIN gp_activity_kind DROP CONSTRAINT gp_activity_kind;
ALTER DOMAIN gp_activity_kind ADD CONSTRAINT gp_activity_kind CHECK (VALUE IN (
  'activity', 'effect', 'model', 'node', 'value')) NOT VALID;
"""


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0009_lean_activities")]
    operations = [migrations.RunSQL(KINDS, migrations.RunSQL.noop)]

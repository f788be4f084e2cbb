"""An index by which monitoring counts decisions."""

from django.db import migrations

DROP = "DROP INDEX CONCURRENTLY IF EXISTS gp_decision_verdicts"
CREATE = "CREATE INDEX CONCURRENTLY gp_decision_verdicts ON gp_decision (verdict)"


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("approvals", "0002_guards")]
    operations = [
        migrations.RunSQL(DROP, migrations.RunSQL.noop),
        migrations.RunSQL(CREATE, DROP),
    ]

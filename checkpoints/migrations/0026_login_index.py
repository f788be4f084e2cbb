"""An index over the sign-ins that began: each login of a browser is looked up by it."""

from django.db import migrations

NAME = "gp_workspace_event_login"
COLUMNS = "gp_workspace_event ((data ->> 'login')) WHERE kind = 'login.begun'"


class Migration(migrations.Migration):
    # Concurrently: a large table can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0025_payees")]
    operations = [
        migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}", migrations.RunSQL.noop),
        migrations.RunSQL(
            f"CREATE INDEX CONCURRENTLY {NAME} ON {COLUMNS}",
            f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}",
        ),
    ]

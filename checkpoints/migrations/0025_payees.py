"""An index over the payees of effects, by which the record is searched at any depth."""

from pathlib import Path

from django.db import migrations

SCHEMA = Path(__file__).with_name("schema") / "payees.sql"
NAME = "gp_activity_payee"
# A short list gathers what is new: a search reads through it, and a commit empties it in a moment.
SHORT_LIST = "WITH (fastupdate = on, gin_pending_list_limit = 64)"
COLUMNS = f"gp_activity USING gin (gp_payee_trigrams(args)) {SHORT_LIST} WHERE kind = 'effect'"


class Migration(migrations.Migration):
    # Concurrently: a large table can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0024_failed_undo_index")]
    operations = [
        migrations.RunSQL(
            SCHEMA.read_text(), "DROP FUNCTION IF EXISTS gp_payee_trigrams; DROP FUNCTION IF EXISTS gp_trigrams"
        ),
        migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}", migrations.RunSQL.noop),
        migrations.RunSQL(
            f"CREATE INDEX CONCURRENTLY {NAME} ON {COLUMNS}",
            f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}",
        ),
    ]

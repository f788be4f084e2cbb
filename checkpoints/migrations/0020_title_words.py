"""An index over the words of titles, which the board's query looks for, and over short ids."""

from pathlib import Path

from django.db import migrations

SCHEMA = Path(__file__).with_name("schema") / "thread_words.sql"
NAME = "gp_thread_title"
# Each change of a status writes the words again: gathered in a short list that costs half of
# writing them at once, and that a search reads through and a commit empties in a moment.
COLUMNS = (
    "gp_thread USING gin (gp_thread_words(title, id)) "
    "WITH (fastupdate = on, gin_pending_list_limit = 64)"
)


class Migration(migrations.Migration):
    # Concurrently: a large table can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0019_channel_keys")]
    operations = [
        migrations.RunSQL(
            SCHEMA.read_text(),
            "DROP FUNCTION IF EXISTS gp_text_begins, gp_thread_words, gp_words",
        ),
        migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}", migrations.RunSQL.noop),
        migrations.RunSQL(
            f"CREATE INDEX CONCURRENTLY {NAME} ON {COLUMNS}",
            f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}",
        ),
    ]

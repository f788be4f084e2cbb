"""One index over titles, agents, labels, errors and starters, in place of that over titles."""

from pathlib import Path

from django.db import migrations

SCHEMA = Path(__file__).with_name("schema") / "thread_terms.sql"
FORMER, NAME = "gp_thread_title", "gp_thread_terms"
# Each change of a status writes the words again: gathered in a short list that costs half of
# writing them at once, and that a search reads through and a commit empties in a moment.
SHORT_LIST = "WITH (fastupdate = on, gin_pending_list_limit = 64)"
FORMER_COLUMNS = f"gp_thread USING gin (gp_thread_words(title, id)) {SHORT_LIST}"
COLUMNS = (
    "gp_thread USING gin (gp_thread_terms"
    f"(title, id, agent, labels, status, status_reason, started_by)) {SHORT_LIST}"
)


class Migration(migrations.Migration):
    # Concurrently: a large table can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0028_children_apart")]
    operations = [
        migrations.RunSQL(
            SCHEMA.read_text(), "DROP FUNCTION IF EXISTS gp_thread_terms, gp_thread_texts"
        ),
        migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}", migrations.RunSQL.noop),
        migrations.RunSQL(
            f"CREATE INDEX CONCURRENTLY {NAME} ON {COLUMNS}",
            f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}",
        ),
        migrations.RunSQL(
            f"DROP INDEX CONCURRENTLY IF EXISTS {FORMER}",
            f"CREATE INDEX CONCURRENTLY {FORMER} ON {FORMER_COLUMNS}",
        ),
    ]

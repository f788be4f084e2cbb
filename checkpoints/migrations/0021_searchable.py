"""Values of searchable channels in the row of their thread, and an index over them."""

from django.db import migrations, models

NAME = "gp_thread_searchable"
COLUMNS = "gp_thread USING gin (searchable jsonb_path_ops) WHERE searchable IS NOT NULL"


class Migration(migrations.Migration):
    # Concurrently: a large table can be written meanwhile. What an interrupted try left is dropped.
    atomic = False
    dependencies = [("checkpoints", "0020_title_words")]
    operations = [
        migrations.AddField(
            model_name="thread",
            name="searchable",
            field=models.JSONField(help_text="{channel: value} of searchable channels", null=True),
        ),
        migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}", migrations.RunSQL.noop),
        migrations.RunSQL(
            f"CREATE INDEX CONCURRENTLY {NAME} ON {COLUMNS}",
            f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}",
        ),
    ]

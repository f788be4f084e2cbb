"""Hand-offs: who has taken the place of a child among the children of its parent."""

from pathlib import Path

from django.db import migrations, models

SQL = Path(__file__).with_name("schema") / "successors.sql"


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0006_tree_indexes")]
    operations = [
        migrations.AddField("child", "successor", models.UUIDField(null=True)),
        migrations.RunSQL(SQL.read_text(), migrations.RunSQL.noop),
    ]

"""Agent versions that only a capsule brought are kept apart from those that workers announced."""

from django.db import migrations, models
from django.db.models import PROTECT
from django.db.models.functions import Now

GUARDS = """
CREATE TRIGGER gp_agent_announcement_row BEFORE UPDATE OR DELETE ON gp_agent_announcement
  FOR EACH ROW EXECUTE FUNCTION gp_refuse();
CREATE TRIGGER gp_agent_announcement_table BEFORE TRUNCATE ON gp_agent_announcement
  FOR EACH STATEMENT EXECUTE FUNCTION gp_refuse();
"""


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0021_fleet_faults")]
    operations = [
        migrations.AddField(
            "agentversion",
            "imported_into",
            models.UUIDField(
                null=True,
                help_text="the workspace whose capsule brought it; no worker announced it then",
            ),
        ),
        migrations.RemoveConstraint("agentversion", "gp_agent_version_once"),
        migrations.AddConstraint(
            "agentversion",
            models.UniqueConstraint(
                fields=("agent", "version", "fingerprint"),
                condition=models.Q(imported_into=None),
                name="gp_agent_version_once",
            ),
        ),
        migrations.CreateModel(
            name="AgentAnnouncement",
            fields=[
                (
                    "agent_version",
                    models.OneToOneField(
                        on_delete=PROTECT,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="checkpoints.agentversion",
                    ),
                ),
                ("label", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True)),
                ("queue", models.CharField(max_length=100)),
                ("created_at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "gp_agent_announcement"},
        ),
        migrations.RunSQL(GUARDS, migrations.RunSQL.noop),
    ]

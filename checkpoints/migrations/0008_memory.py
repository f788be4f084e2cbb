"""What agents know, apart from their state."""

from django.db import migrations, models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from .schema import run_files


class Migration(migrations.Migration):
    dependencies = [
        ("checkpoints", "0007_hot_streams"),
    ]

    operations = [
        migrations.CreateModel(
            name="MemoryText",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "memory_id",
                        "revision",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("memory_id", models.UUIDField()),
                ("revision", models.IntegerField()),
                ("workspace_id", models.UUIDField()),
                ("text", models.TextField()),
                ("metadata", models.JSONField()),
                ("author", models.CharField(max_length=200)),
                ("written_at", models.DateTimeField()),
            ],
            options={
                "db_table": "gp_memory_text",
            },
        ),
        migrations.CreateModel(
            name="Memory",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("workspace_id", models.UUIDField()),
                ("scope", models.CharField(max_length=10)),
                ("owner", models.CharField(blank=True, max_length=200)),
                ("kind", models.CharField(max_length=12)),
                ("text", models.TextField(blank=True)),
                ("metadata", models.JSONField(default=dict)),
                ("salt", models.BinaryField()),
                ("outside", models.BooleanField()),
                ("source", models.CharField(max_length=10)),
                ("thread_id", models.UUIDField(null=True)),
                ("branch", models.IntegerField(null=True)),
                ("step", models.IntegerField(null=True)),
                ("node", models.CharField(blank=True, db_default="", max_length=100)),
                ("key", models.CharField(max_length=64, null=True)),
                ("author", models.CharField(max_length=200)),
                ("revision", models.IntegerField(db_default=1)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("revised_at", models.DateTimeField(null=True)),
                ("revised_by", models.CharField(blank=True, db_default="", max_length=200)),
                ("expires_at", models.DateTimeField(null=True)),
                ("gone_at", models.DateTimeField(null=True)),
                ("gone_by", models.CharField(blank=True, db_default="", max_length=200)),
                ("gone_reason", models.TextField(blank=True, db_default="")),
            ],
            options={
                "verbose_name_plural": "memories",
                "db_table": "gp_memory",
                "indexes": [
                    models.Index(
                        fields=["workspace_id", "-created_at", "-id"], name="gp_memory_newest"
                    ),
                    models.Index(
                        fields=["workspace_id", "scope", "owner", "-created_at", "-id"],
                        name="gp_memory_owner",
                    ),
                    models.Index(
                        condition=models.Q(("thread_id__isnull", False)),
                        fields=["thread_id"],
                        name="gp_memory_thread",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("expires_at__isnull", False), ("gone_at__isnull", True)
                        ),
                        fields=["expires_at"],
                        name="gp_memory_expiry",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("key__isnull", False)),
                        fields=("workspace_id", "key"),
                        name="gp_memory_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kind__in", ("conversation", "fact", "document")),
                            ("scope__in", ("thread", "agent", "person", "workspace")),
                            ("source__in", ("agent", "person", "import")),
                        ),
                        name="gp_memory_words",
                    ),
                ],
            },
        ),
        *run_files(__file__, "memories"),
    ]

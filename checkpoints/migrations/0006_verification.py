"""What the last verification of a thread found."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0005_figures")]
    operations = [
        migrations.CreateModel(
            name="Verification",
            fields=[
                (
                    "thread",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="checkpoints.thread",
                    ),
                ),
                ("n_events", models.BigIntegerField()),
                ("intact", models.BooleanField()),
                ("broken_seq", models.BigIntegerField(null=True)),
                ("what", models.TextField(blank=True, default="")),
                ("checked_by", models.CharField(max_length=200)),
                ("checked_at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "gp_verification"},
        ),
    ]

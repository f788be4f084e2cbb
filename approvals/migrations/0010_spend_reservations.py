"""What model calls under way may cost, so that calls at once cannot pass a cap."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0009_payees")]
    operations = [
        migrations.CreateModel(
            name="SpendReservation",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "thread_id",
                        "position",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("thread_id", models.UUIDField()),
                ("position", models.CharField(max_length=400)),
                ("workspace_id", models.UUIDField()),
                ("lease_token", models.UUIDField()),
                ("step", models.IntegerField()),
                ("cost", models.DecimalField(decimal_places=6, max_digits=18)),
                ("tokens", models.BigIntegerField()),
            ],
            options={
                "db_table": "gp_spend_reservation",
                "indexes": [
                    models.Index(fields=["workspace_id"], name="gp_spend_reservation_of")
                ],
            },
        ),
    ]

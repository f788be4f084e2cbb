"""Drop indexes that no statement needs, from databases that were made with them."""

from importlib import import_module

from django.db import migrations

drop = import_module("checkpoints.migrations.0003_unneeded_indexes").drop
UNNEEDED = ("gp_delivery_busy", "gp_deputy_person", "gp_spend_reservation_of")


class Migration(migrations.Migration):
    atomic = False  # concurrently
    dependencies = [("approvals", "0001_schema"), ("checkpoints", "0003_unneeded_indexes")]
    operations = [drop(*UNNEEDED)]

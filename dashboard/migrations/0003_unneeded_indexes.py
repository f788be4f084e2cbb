"""Drop indexes that no statement needs, from databases that were made with them."""

from importlib import import_module

from django.db import migrations

drop = import_module("checkpoints.migrations.0003_unneeded_indexes").drop
UNNEEDED = ("gp_saved_view_shared", "gp_token_workspace_id_f905ded0")


class Migration(migrations.Migration):
    atomic = False  # concurrently
    dependencies = [("dashboard", "0002_like_indexes"), ("checkpoints", "0003_unneeded_indexes")]
    operations = [drop(*UNNEEDED)]

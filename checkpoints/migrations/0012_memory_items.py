"""The index by which an item of a store is found."""

from django.db import migrations

from .schema import run_files


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0011_like_index")]
    operations = run_files(__file__, "memory_items")

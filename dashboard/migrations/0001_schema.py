"""The schema of the top floor: its tables.

Takes the place of the migrations that it names. `migrate` takes over a database that has them all,
without a change, and refuses one that has only some of them (dashboard.operate.migration_history).
"""

from django.conf import settings
from django.db import migrations

from .schema import people, services

REPLACED = """
0001_tokens_and_keys 0002_mcp_servers 0003_saved_views 0004_sign_ins 0005_identities
0006_second_factors 0007_record_views 0008_passkeys 0009_keyed_digests 0010_mcp_reads
0011_access_changes 0012_unused_indexes
"""


class Migration(migrations.Migration):
    initial = True
    replaces = [("dashboard", name) for name in REPLACED.split()]
    dependencies = [
        ("checkpoints", "0001_schema"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [*people.TABLES, *services.TABLES]

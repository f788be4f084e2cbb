"""The schema of floor 1: tables in Python, what Django cannot say in SQL beside them.

Takes the place of the migrations that it names. `migrate` takes over a database that has them all,
without a change, and refuses one that has only some of them (dashboard.operate.migration_history).
"""

from django.db import migrations

from checkpoints.migrations.schema import run_files

from .schema import hooks, incidents, notify, policies, requests

REPLACED = """
0001_initial 0002_guards 0003_figures 0004_imports 0005_terms 0006_policies 0007_notify 0008_hooks
0009_inbox 0010_turns 0011_inbox_figures 0012_policies_asked 0013_tally 0014_repeats 0015_alarms
0016_thread_news 0017_votes_counted 0018_sentence 0002_origins 0003_waiting_work
0004_news_of_requests 0005_incidents 0006_erasure 0007_deputies 0008_device_keys 0009_payees
0010_spend_reservations 0011_confirmed_identities 0012_blocking_policies 0013_unused_indexes
"""


class Migration(migrations.Migration):
    initial = True
    replaces = [("approvals", name) for name in REPLACED.split()]
    dependencies = [("checkpoints", "0001_schema")]
    operations = [
        *requests.TABLES,
        *policies.TABLES,
        *notify.TABLES,
        *hooks.TABLES,
        *incidents.TABLES,
        *run_files(
            __file__,
            "append_only",
            "inbox",
            "votes",
            "thread_news",
            "erasure",
            "indexes",
        ),
    ]

"""The schema of floor 1: tables in Python, what Django cannot say in SQL beside them.

Takes the place of the 18 migrations before it. A database that has them all is taken over by
`migrate` without a change; one that has only some of them is refused (dashboard.records.integrity.takeover).
"""

from pathlib import Path

from django.db import migrations

from .schema import hooks, notify, policies, requests

SCHEMA = Path(__file__).with_name("schema")
REPLACED = """
0001_initial 0002_guards 0003_figures 0004_imports 0005_terms 0006_policies 0007_notify 0008_hooks
0009_inbox 0010_turns 0011_inbox_figures 0012_policies_asked 0013_tally 0014_repeats 0015_alarms
0016_thread_news 0017_votes_counted 0018_sentence
"""


def run_file(name: str) -> migrations.RunSQL:
    """Run a file of the folder `schema`."""
    return migrations.RunSQL((SCHEMA / name).read_text(), migrations.RunSQL.noop)


class Migration(migrations.Migration):
    initial = True
    replaces = [("approvals", name) for name in REPLACED.split()]
    dependencies = [("checkpoints", "0001_schema")]
    operations = [
        *requests.TABLES,
        *policies.TABLES,
        *notify.TABLES,
        *hooks.TABLES,
        run_file("append_only.sql"),
        run_file("inbox.sql"),
        run_file("votes.sql"),
        run_file("thread_news.sql"),
    ]

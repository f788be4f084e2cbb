"""The schema of the ground floor: tables in Python, what Django cannot say in SQL beside them.

Takes the place of the 25 migrations before it. A database that has them all is taken over by
`migrate` without a change; one that has only some of them is refused (dashboard.records.integrity.takeover).
"""

from pathlib import Path

from django.conf import settings
from django.db import migrations

from .schema import agents, fleet, history, threads, workspaces

SCHEMA = Path(__file__).with_name("schema")
REPLACED = """
0001_initial 0002_guards 0003_domains 0004_workspace_log 0005_figures 0006_verification
0007_keyframe_text 0008_agent_checkpoints 0009_lean_activities 0010_model_calls 0011_imports
0012_contents 0013_backoffs 0014_savings 0015_undo 0016_pinned 0017_one_index_less
0018_forks_of_forks 0019_rare_events 0020_digests 0021_fleet_faults 0022_imported_agents
0023_damage 0024_graph_words 0025_code_parts
"""


def run_file(name: str) -> migrations.RunSQL:
    """Run a file of the folder `schema`."""
    return migrations.RunSQL((SCHEMA / name).read_text(), migrations.RunSQL.noop)


class Migration(migrations.Migration):
    initial = True
    replaces = [("checkpoints", name) for name in REPLACED.split()]
    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        *workspaces.TABLES,
        *agents.TABLES,
        *threads.TABLES,
        *history.TABLES,
        *fleet.TABLES,
        run_file("domains.sql"),
        run_file("event_chain.sql"),
        run_file("append_only.sql"),
        run_file("thread_rows.sql"),
        run_file("agent_checkpoints.sql"),
    ]

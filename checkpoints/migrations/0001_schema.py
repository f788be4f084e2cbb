"""The schema of the ground floor: tables in Python, what Django cannot say in SQL beside them.

Takes the place of the migrations that it names. `migrate` takes over a database that has them all,
without a change, and refuses one that has only some of them (dashboard.operate.migration_history).
"""

from django.conf import settings
from django.db import migrations

from .schema import (
    agents,
    anchors,
    erasure,
    fleet,
    history,
    overview,
    run_files,
    threads,
    workspaces,
)

REPLACED = """
0001_initial 0002_guards 0003_domains 0004_workspace_log 0005_figures 0006_verification
0007_keyframe_text 0008_agent_checkpoints 0009_lean_activities 0010_model_calls 0011_imports
0012_contents 0013_backoffs 0014_savings 0015_undo 0016_pinned 0017_one_index_less
0018_forks_of_forks 0019_rare_events 0020_digests 0021_fleet_faults 0022_imported_agents
0023_damage 0024_graph_words 0025_code_parts 0026_spent_by_day 0002_spent_by_day
0003_effects_by_time 0004_worker_models 0005_children 0006_tree_indexes 0007_successors
0008_unpriced_calls 0009_board_index 0010_span_exports 0011_watched 0012_stuck 0013_breakers
0014_overview 0015_event_times 0016_erasure 0017_anchors 0018_required_factors 0019_channel_keys
0020_title_words 0021_searchable 0022_searchable_index 0023_verdict_index 0024_failed_undo_index
0025_payees 0026_login_index 0027_open_effects 0028_children_apart 0029_thread_terms
0030_automatic_title 0031_unused_indexes
"""


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
        *overview.TABLES,
        *erasure.TABLES,
        *anchors.TABLES,
        *run_files(
            __file__,
            "domains",
            "event_chain",
            "append_only",
            "thread_rows",
            "agent_checkpoints",
            "children",
            "erasure",
            "anchors",
            "thread_words",
            "thread_terms",
            "payees",
            "indexes",
        ),
    ]

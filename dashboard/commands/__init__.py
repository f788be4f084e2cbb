"""The commands of `manage.py` and their verbs: thin over actions and queries, like the API.

Each room but `terminal` is a Django app: Django looks for commands in its `management/commands`.
"""

APPS = tuple(
    f"dashboard.commands.{room}"
    for room in ("agents", "audit", "fleet", "operation", "people", "threads")
)

"""The commands of ours: their names, their rooms, their classes."""

from __future__ import annotations

from typing import Any

from django.core.management import get_commands, load_command_class

# {command: the app that holds it}
COMMANDS = {
    name: app
    for name, app in get_commands().items()
    if isinstance(app, str) and app.startswith("dashboard.")
}
assert len(COMMANDS) > 30


def command_named(name: str) -> Any:
    """The command of a name, as `manage.py` calls it."""
    return load_command_class(COMMANDS[name], name)

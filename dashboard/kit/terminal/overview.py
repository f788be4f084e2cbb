"""The list of commands: those of Gatepost, by subject, each with the first sentence of its help."""

from __future__ import annotations

import difflib
import re
import sys

from django.core.management import (
    BaseCommand,
    ManagementUtility,
    get_commands,
    load_command_class,
)

ROOMS = "dashboard."
WRONG_USE = 2


class Commands(ManagementUtility):
    """Django's commands and ours; `help` lists ours, and an unknown one ends with code 2."""

    def main_help_text(self, commands_only: bool = False) -> str:
        """Return the list, or for the shell's completion the bare names."""
        if commands_only:
            return super().main_help_text(commands_only)
        rooms: dict[str, dict[str, str]] = {}
        for name, app in get_commands().items():
            if isinstance(app, str) and app.startswith(ROOMS):
                command = load_command_class(app, name)
                rooms.setdefault(app.split(".")[-1], {})[name] = _first_sentence(command.help)
        if not rooms:  # The settings cannot be read; Django says why.
            return super().main_help_text()
        width = max(len(name) for names in rooms.values() for name in names)
        lines = [f"{self.prog_name} COMMAND --help explains a command and shows examples."]
        for room, names in sorted(rooms.items()):
            lines += ["", f"[{room}]"]
            lines += [f"  {name:<{width}}  {text}" for name, text in sorted(names.items())]
        return "\n".join(lines)

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return the command; ends the process where there is none of this name."""
        known = get_commands()
        if subcommand not in known:
            near = difflib.get_close_matches(subcommand, known, n=1)
            advice = f" Did you mean {near[0]!r}?" if near else ""
            end = f"`{self.prog_name} help` lists all."
            print(f"There is no command {subcommand!r}.{advice} {end}", file=sys.stderr)
            sys.exit(WRONG_USE)
        return super().fetch_command(subcommand)


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.) (?=[A-Z`])", " ".join(text.split()))[0]

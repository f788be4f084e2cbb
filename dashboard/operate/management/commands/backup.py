"""`./manage.py backup --to FOLDER`: the database and all files, as one backup."""

from __future__ import annotations

import os
from pathlib import Path

from django.core.management.base import CommandParser

from dashboard.kit.terminal.console import (
    REFUSED,
    TerminalCommand,
    add_answer_arguments,
    facts,
)
from dashboard.operate.backups.made import make
from dashboard.wording.text import size


class Command(TerminalCommand):
    """Reads only; everything may work meanwhile."""

    help = (
        "Writes a backup into a new folder: a dump of the database as of one moment, the end of "
        "every log, all files, and a signed manifest with the hash of each. Everything may work "
        "meanwhile. `restore` brings it back and verifies it. The keys are not in it."
    )
    examples = """
        backup --to /mnt/backups/2026-12-01
    """

    def add_arguments(self, parser: CommandParser) -> None:
        """The target."""
        parser.add_argument(
            "--to", type=Path, required=True, metavar="FOLDER", help="a new or empty folder"
        )
        add_answer_arguments(parser)

    def act(self) -> None:
        """Make it; leave with 1 where files are damaged and so not in it."""
        os.umask(0o077)
        folder = self.options["to"]
        made = make(folder, self.say)
        rows = [
            ("backup", str(folder)),
            ("threads", f"{made.threads:,}"),
            ("files", f"{made.files:,}"),
            ("bytes", size(made.bytes)),
        ]
        self.show(made, facts("", [*rows, *(("damaged", name) for name in made.damaged)]))
        if made.damaged:
            self.say("Damaged files are not in the backup. `verify` says which threads need them.")
            raise SystemExit(REFUSED)

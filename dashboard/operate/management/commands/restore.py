"""`./manage.py restore FOLDER`: a backup into an empty installation, verified."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import CommandParser

from dashboard.kit.terminal.console import (
    REFUSED,
    TerminalCommand,
    add_answer_arguments,
    facts,
    table,
)
from dashboard.operate.backups.restored import check, database_server, restore


class Command(TerminalCommand):
    """Writes only into what is empty."""

    help = (
        "Restores a backup into an empty database and an empty file storage, then verifies every "
        "log, row and file against the end of the logs that was noted with the backup. A backup "
        "that is damaged is refused before anything is written. Without DATABASE_URL it starts the "
        "embedded server of the data folder for itself."
    )
    examples = """
        restore /mnt/backups/2026-12-01
        restore /mnt/backups/2026-12-01 --data-dir ~/restored
    """

    def add_arguments(self, parser: CommandParser) -> None:
        """The backup."""
        parser.add_argument("folder", type=Path, metavar="FOLDER", help="as `backup` wrote it")
        parser.add_argument(
            "--unsigned",
            action="store_true",
            help="do not check signatures, where the key is lost: damage is still found, a forged "
            "backup is not",
        )
        add_answer_arguments(parser)

    def act(self) -> None:
        """Restore, verify, report; leave with 1 unless everything is intact."""
        folder, unsigned = self.options["folder"], self.options["unsigned"]
        begin = check(folder, unsigned=unsigned, say=self.say)
        with database_server():
            restored = restore(folder, begin, unsigned=unsigned, say=self.say)
        verified = restored.verified
        rows = [
            ("result", "restored and intact" if verified.intact else "restored, NOT intact"),
            ("backup of", restored.at),
            ("threads", f"{verified.threads:,}"),
            ("events", f"{verified.events:,}"),
            ("files", f"{restored.files:,}"),
            ("seconds", f"{restored.seconds:,.1f}"),
        ]
        findings = [*verified.broken, *verified.unverified]
        broken = table(
            "Broken", ("of", "id", "event", "what"), ((f.of, f.id, f.seq, f.what) for f in findings)
        )
        self.show(restored, facts("", rows), broken)
        if not verified.intact:
            raise SystemExit(REFUSED)

"""`./manage.py copy_files --to s3://...`: bring all files into a bucket."""

from __future__ import annotations

from django.conf import settings
from django.core.files.storage import default_storage, storages
from django.core.management.base import CommandParser

from dashboard.configuration import storage
from dashboard.configuration.sources import Misconfigured
from dashboard.kit.terminal.console import (
    TerminalCommand,
    Usage,
    add_answer_arguments,
    facts,
)
from dashboard.operate.file_copies import Copied, copy_files
from dashboard.wording.text import size


class Command(TerminalCommand):
    """Copies; nothing is deleted and no setting is changed."""

    help = (
        "Copies all files of this installation into a bucket and compares each with its hash. "
        "What lies there whole is not sent again: the same call continues a copy that was stopped."
    )
    examples = """
        copy_files --to 's3://gatepost-files/production?endpoint=https://minio.example.com:9000'
    """

    def add_arguments(self, parser: CommandParser) -> None:
        """The target."""
        parser.add_argument(
            "--to", required=True, metavar="ADDRESS", help="as GATEPOST_STORAGE would name it"
        )
        add_answer_arguments(parser)

    def act(self) -> None:
        """Copy and count; leave with 1 where a file is damaged."""
        try:
            target = storages.create_storage(
                storage.files(
                    self.options["to"],
                    key=settings.GATEPOST_STORAGE_KEY,
                    secret=settings.GATEPOST_STORAGE_SECRET,
                )
            )
        except Misconfigured as error:
            raise Usage("--to", error.problem) from None
        counts = Copied()
        for n, _ in enumerate(copy_files(default_storage, target, counts), 1):
            if n % 1_000 == 0:
                self.say(f"{n:,} so far ...")
        rows = [("sent", f"{counts.sent:,}"), ("bytes", size(counts.bytes))]
        rows.append(("there already", f"{counts.there:,}"))
        self.show(counts, facts("", [*rows, *(("damaged", name) for name in counts.damaged)]))
        if counts.damaged:
            self.say("Damaged files were not copied. `verify` says which threads need them.")
            raise SystemExit(1)

"""`./manage.py anchor`: notes the ends of all logs in a signed file outside the database."""

from __future__ import annotations

import argparse
from pathlib import Path

from pydantic import BaseModel

from dashboard.commands.terminal.console import TerminalCommand, add_answer_arguments
from dashboard.commands.terminal.tables import facts
from dashboard.operating import anchors


class Anchor(BaseModel):
    """The file that was written, and what it notes."""

    file: str
    threads: int
    workspaces: int
    signature: str


class Command(TerminalCommand):
    """The file belongs where whoever can alter the database cannot: another machine, a print."""

    help = (
        "Writes the number and hash of the last event of every thread and workspace into a signed "
        "file. `verify --anchor FILE` later finds ends that were cut off, threads that are gone, "
        "and an old dump that was put back."
    )
    examples = """
        anchor
        anchor --to /safe/place/today.anchor
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Where to."""
        parser.add_argument(
            "--to", type=Path, metavar="FILE", help="else a new file in <data folder>/anchors"
        )
        add_answer_arguments(parser)

    def act(self) -> None:
        """Write it."""
        written = anchors.write(self.options["to"] or anchors.default_path())
        anchor = Anchor(
            file=str(written.path),
            threads=written.n_threads,
            workspaces=written.n_workspaces,
            signature=written.signature,
        )
        rows = [
            ("file", anchor.file),
            ("threads", f"{anchor.threads:,}"),
            ("workspaces", f"{anchor.workspaces:,}"),
            ("signature", anchor.signature),
        ]
        self.tell(anchor, facts("", rows))

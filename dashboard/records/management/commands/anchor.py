"""`./manage.py anchor`: notes the ends of all logs in a signed file outside the database."""

from __future__ import annotations

import argparse
from pathlib import Path

from django.conf import settings
from pydantic import BaseModel

from dashboard.kit.terminal.console import REFUSED, TerminalCommand, Usage, add_answer_arguments
from dashboard.kit.terminal.tables import facts, table
from dashboard.records.integrity import anchors, outgoing_anchors


class Anchor(BaseModel):
    """The file that was written, and what it notes."""

    file: str
    threads: int
    workspaces: int
    signature: str


class Sent(BaseModel):
    """Outcome of an anchor at a destination; `error` is empty where it was confirmed."""

    destination: str
    number: int
    error: str


class SentAnchors(BaseModel):
    """The destinations of GATEPOST_ANCHORS."""

    results: list[Sent]


class Command(TerminalCommand):
    """Keep the file where nobody can alter the database as well: another machine, a print."""

    help = (
        "Writes the number and hash of the last event of every thread and workspace into a signed "
        "file. `verify --anchor FILE` later finds ends that were cut off, threads that are gone, "
        "and an old dump that was put back."
    )
    examples = """
        anchor
        anchor --to /safe/place/today.anchor
        anchor --send
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the destination."""
        parser.add_argument(
            "--to", type=Path, metavar="FILE", help="else a new file in <data folder>/anchors"
        )
        parser.add_argument(
            "--send",
            action="store_true",
            help="make one and hand it to every destination of GATEPOST_ANCHORS now",
        )
        add_answer_arguments(parser)

    def act(self) -> None:
        """Write it, or send one."""
        if self.options["send"]:
            self._send()
            return
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
        self.show(anchor, facts("", rows))

    def _send(self) -> None:
        if not settings.GATEPOST_ANCHORS:
            raise Usage("--send", "needs destinations: set GATEPOST_ANCHORS")
        results = [
            Sent(destination=one.name, number=one.number, error=one.error)
            for one in outgoing_anchors.send_now()
        ]
        rows = ((one.destination, one.number, one.error or "confirmed") for one in results)
        self.show(SentAnchors(results=results), table("", ("destination", "anchor", "is"), rows))
        if any(one.error for one in results):
            raise SystemExit(REFUSED)

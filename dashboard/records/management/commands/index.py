"""`./manage.py index`: fills the index of the history, or makes it anew."""

from __future__ import annotations

import argparse
import time

from pydantic import BaseModel

from checkpoints import store
from dashboard.kit.terminal.console import TerminalCommand, add_answer_arguments
from dashboard.kit.terminal.tables import facts

AT_ONCE_SECONDS = 2.0


class Indexed(BaseModel):
    """Events that were added to the index, and how long that took."""

    events: int
    seconds: float


class Command(TerminalCommand):
    """Words of events for questions to the record; a worker fills it as well."""

    help = (
        "Adds the events that are not in the index of the history yet. With --rebuild all words "
        "are removed first and made anew from the log; questions are answered from what is there."
    )
    examples = """
        index
        index --rebuild
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare whether it is made anew."""
        parser.add_argument("--rebuild", action="store_true", help="remove all words first")
        add_answer_arguments(parser)

    def act(self) -> None:
        """Fill it until nothing is left."""
        if self.options["rebuild"]:
            store.rebuild_index()
        begin, events = time.monotonic(), 0
        while added := store.index_history(seconds=AT_ONCE_SECONDS):
            events += added
        result = Indexed(events=events, seconds=round(time.monotonic() - begin, 2))
        self.show(result, facts("", [("events", f"{events:,}"), ("seconds", f"{result.seconds}")]))

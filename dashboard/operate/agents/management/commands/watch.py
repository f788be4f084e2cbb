"""`./manage.py watch FOLDER`: threads of agents that write files and know nothing of Gatepost."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from django.db import InterfaceError, OperationalError, connection

from dashboard.kit.terminal.arguments import number_from
from dashboard.kit.terminal.console import PersonalCommand, add_common_arguments
from dashboard.kit.terminal.tables import table
from dashboard.operate.agents.watched_files import Folder, Seen


class Command(PersonalCommand):
    """Each file is a thread, each change of it a checkpoint; nothing is written to the folder."""

    help = (
        "Shows a folder of JSON files, such as the state.json of an agent, as threads that are "
        "watched and not controlled, and follows their changes until Ctrl-C."
    )
    examples = """
        watch ./sessions
        watch ./sessions --agent researcher --once
        watch ./sessions --every 10 --json
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Which folder, and how."""
        parser.add_argument("folder", type=Path, help="all *.json in it and below it")
        parser.add_argument(
            "--agent", default="", metavar="NAME", help="whose threads they are (the folder's name)"
        )
        parser.add_argument("--once", action="store_true", help="look once, then end")
        parser.add_argument(
            "--every",
            type=number_from(1, 3_600),
            default=1,
            metavar="SECONDS",
            help="how often to look (1)",
        )
        add_common_arguments(parser)

    def act(self) -> None:
        """Look and print what is new, until stopped."""
        path: Path = self.options["folder"]
        agent = self.options["agent"] or path.resolve().name
        folder = Folder(path, agent, self.actor("work"))
        if self.options["once"]:
            seen = list(folder.look(patient=False))
            rows = [(s.file, s.result, s.checkpoint, s.why or str(s.thread)) for s in seen]
            self.show(seen, table("", ("file", "result", "checkpoint", "thread"), rows))
            return
        self.say(f"Watching {path}; Ctrl-C ends it.")
        while True:
            try:
                for one in folder.look(patient=True):
                    self._print(one)
            except (OperationalError, InterfaceError):
                connection.close()
                self.say("The database does not answer; looking again.")
            time.sleep(self.options["every"])

    def _print(self, seen: Seen) -> None:
        if self.as_json:
            self.stdout.write(seen.model_dump_json())
        elif seen.result == "refused":
            self.say(f"{seen.file}: refused, {seen.why}")
        elif seen.result == "kept":
            self.stdout.write(f"{seen.file}: checkpoint {seen.checkpoint} of {seen.thread}")
        self.stdout.flush()

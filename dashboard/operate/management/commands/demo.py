"""`./manage.py demo`: a fleet of threads in a running demo."""

from __future__ import annotations

import argparse

from django.conf import settings
from pydantic import BaseModel

from dashboard.kit.terminal.console import TerminalCommand, add_answer_arguments
from dashboard.kit.terminal.tables import facts
from dashboard.operate.demo.cast import demo_cast
from dashboard.operate.demo.fleet import Fleet
from dashboard.operate.embedded.web_address import noted


class DemoFleet(BaseModel):
    """Threads that were started now, whether all steps were taken, an address that compares two."""

    threads: int
    started: list[str]
    complete: bool
    comparison: str


class Command(TerminalCommand):
    """Started by `up --fleet`, and by hand in a second terminal."""

    help = "Fills a running demo with threads in many states; a second time it adds nothing."
    examples = """
        demo
        demo --seconds 60 --json
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare how long it may take."""
        parser.add_argument(
            "--seconds", type=float, default=300.0, help="how long to follow the threads (300)"
        )
        add_answer_arguments(parser)

    def act(self) -> None:
        """Start the threads, then take the steps of people as threads come to them."""
        fleet = Fleet(demo_cast())
        fleet.start()
        complete = fleet.fill(seconds=self.options["seconds"], report=self.say)
        base = (noted(settings.GATEPOST_DATA) or "http://127.0.0.1:8000").rstrip("/")
        comparison = fleet.comparison()
        answer = DemoFleet(
            threads=len(fleet.scenes),
            started=fleet.started,
            complete=complete,
            comparison=base + comparison if comparison else "",
        )
        rows = [
            ("threads", str(answer.threads)),
            ("started now", str(len(answer.started))),
            ("steps of people", "all taken" if complete else "some are missing"),
            ("compare", answer.comparison),
        ]
        self.show(answer, facts("Demo fleet", rows))

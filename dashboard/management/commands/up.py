"""`./manage.py up`: everything that Gatepost needs, from one command, on this machine."""

import argparse
import os
from typing import Any

from django.core.management.base import BaseCommand

from dashboard.embedded import start
from dashboard.embedded.arguments import add_arguments, from_parsed
from dashboard.embedded.console import Console
from dashboard.embedded.folders import EmbeddedError


class Command(BaseCommand):
    help = "Starts PostgreSQL, Valkey, the web server and a worker, and stays until Ctrl-C."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_arguments(parser)

    def handle(self, *_args: Any, **options: Any) -> None:
        console = Console()
        code = 0
        try:
            start.run(from_parsed(options), console)
        except EmbeddedError as error:
            console.complain(str(error))
            code = 1
        # All parts are gone and all files closed; the interpreter's own farewell to hundreds of
        # modules would only keep the person at the terminal waiting.
        console.stream.flush()
        os._exit(code)

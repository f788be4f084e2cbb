"""`./manage.py up`: everything that Gatepost needs, from one command, on this machine."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dashboard.operate.embedded.arguments import add_arguments
from gatepost_command import COMMAND


class Command(BaseCommand):
    """Here so that `help` lists it; manage.py starts it before Django reads its settings."""

    help = "Starts PostgreSQL, Valkey, the web server and a worker, and stays until Ctrl-C."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_arguments(parser)

    def handle(self, *_args: Any, **_options: Any) -> None:
        raise CommandError(f"Call it as `{COMMAND} up`.")

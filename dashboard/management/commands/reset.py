"""`./manage.py reset`: deletes the data folder, after asking, and only when nothing works on it."""

import argparse
import os
import shutil
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dashboard.embedded.folders import EmbeddedError, folders
from dashboard.embedded.lock import DataLock


class Command(BaseCommand):
    help = "Deletes a data folder with everything in it: threads, events, logins, published files."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--data-dir", default=os.environ.get("GATEPOST_DATA") or ".gatepost")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *_args: Any, **options: Any) -> None:
        data = Path(os.path.abspath(Path(options["data_dir"]).expanduser()))
        if not (data / "gatepost.lock").exists():
            raise CommandError(f"{data} is no data folder of Gatepost: nothing was deleted.")
        try:
            places = folders(data)
            lock = DataLock(data).take()
        except EmbeddedError as error:
            raise CommandError(str(error)) from None
        try:
            if not options["yes"] and input(f"Delete everything in {data}? [y/N] ").lower() != "y":
                self.stdout.write("Nothing was deleted.")
                return
            # The sockets, what root's servers keep outside of the data folder, and the folder.
            for folder in (places.run, places.postgres.parent, data):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            lock.release()
        self.stdout.write(f"{data} is deleted.")

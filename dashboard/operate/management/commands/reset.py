"""`./manage.py reset`: deletes the data folder, after asking, and only when nothing works on it."""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path

from pydantic import BaseModel

from dashboard.errors import Conflict, Missing
from dashboard.kit.terminal.console import TerminalCommand, add_answer_arguments, add_yes_argument
from dashboard.kit.terminal.tables import facts
from dashboard.operate.embedded.process.folders import EmbeddedError, Folders, folders
from dashboard.operate.embedded.process.lock import DataLock
from dashboard.wording.text import size


class Deleted(BaseModel):
    """The deleted folders and their bytes, or those that would be deleted."""

    data: str
    folders: list[str]
    bytes: int
    deleted: bool


class Command(TerminalCommand):
    """Threads, events, logins, files: nothing of it comes back."""

    help = "Deletes a data folder with everything in it: threads, events, logins, published files."
    examples = """
        reset
        reset --data-dir ~/trial --yes
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Which folder; whether to ask."""
        add_yes_argument(parser)
        add_answer_arguments(parser)

    def act(self) -> None:
        """Say what goes, ask, delete."""
        value = self.options["data_dir"] or os.environ.get("GATEPOST_DATA") or ".gatepost"
        data = Path(os.path.abspath(Path(value).expanduser()))
        if not (data / "gatepost.lock").exists():
            raise Missing(
                f"{data} is not a data folder of Gatepost, nothing was deleted; name it with "
                "--data-dir."
            )
        try:
            places = folders(data)
            lock = DataLock(data).take()
        except EmbeddedError as error:
            raise Conflict(str(error)) from None
        try:
            self._delete(places)
        finally:
            lock.release()

    def _delete(self, places: Folders) -> None:
        data = places.data
        # The sockets, what root's servers keep outside of the data folder, and the folder.
        outside = [f for f in (places.run, places.postgres.parent) if not f.is_relative_to(data)]
        going = [folder for folder in (*outside, data) if folder.exists()]
        deleted = Deleted(
            data=str(data),
            folders=[str(folder) for folder in going],
            bytes=sum(map(_bytes_in, going)),
            deleted=False,
        )
        self.say(
            f"This deletes {', '.join(deleted.folders)} ({size(deleted.bytes)}): threads, events, "
            "checkpoints, logins, files. Servers of your own (DATABASE_URL) are left alone."
        )
        if not self.confirmed("Delete it?"):
            return
        for folder in going:
            shutil.rmtree(folder, ignore_errors=True)
        deleted.deleted = not any(folder.exists() for folder in going)
        if not deleted.deleted:
            raise Conflict(f"{data} could not be deleted whole; look at who owns what is left.")
        self.show(deleted, facts("", [("deleted", folder) for folder in deleted.folders]))


def _bytes_in(folder: Path) -> int:
    total = 0
    for top, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(top, name)).st_size
            except OSError:
                continue
    return total

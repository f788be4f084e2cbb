"""`./manage.py sbom`: the bill of materials of this installation, in CycloneDX JSON."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError
from pathlib import Path

from django.conf import settings

from dashboard.kit.terminal.console import TerminalCommand, Usage, add_place_argument
from dashboard.operate.packages.bill import SPEC, bill
from dashboard.operate.packages.locked import packages
from gatepost_command import __version__


class Command(TerminalCommand):
    """Asks no server; reads the lock file and the metadata of what is installed."""

    help = f"Prints the software bill of materials (CycloneDX {SPEC} JSON)."
    examples = """
        sbom
        sbom --output gatepost.cdx.json
        sbom --lock requirements-dev.lock
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Of which packages, and where to."""
        parser.add_argument("--output", metavar="FILE", help="write it here, not to the terminal")
        parser.add_argument("--lock", metavar="FILE", help="of this lock file's packages")
        add_place_argument(parser)

    def act(self) -> None:
        """Print or write one document."""
        named = self.options["lock"]
        lock = Path(named) if named else Path(settings.BASE_DIR) / "requirements.lock"
        if named and not lock.is_file():
            raise Usage("--lock", "names no file")
        try:
            rows = packages(lock)
        except PackageNotFoundError:
            raise Usage(
                "--lock", "is needed here: Gatepost is not installed as a package"
            ) from None
        document = bill(rows, version=__version__, at=datetime.now(UTC))
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        output = self.options["output"]
        if not output:
            self.stdout.write(text, ending="")
            return
        try:
            Path(output).write_text(text)
        except OSError as error:
            raise Usage("--output", f"cannot be written: {error.strerror}") from error
        self.say(f"{len(rows)} packages in {output}.")

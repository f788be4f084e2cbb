"""`./manage.py advisories`: packages with known vulnerabilities, without a network."""

from __future__ import annotations

import argparse
from datetime import UTC, date, datetime
from importlib.metadata import PackageNotFoundError
from pathlib import Path

from django.conf import settings
from pydantic import BaseModel, ValidationError

from dashboard.kit.terminal.console import (
    REFUSED,
    Away,
    TerminalCommand,
    Usage,
    add_answer_arguments,
)
from dashboard.kit.terminal.tables import table
from dashboard.operate.packages import advisories as known_vulnerabilities
from dashboard.operate.packages.advisories import Vulnerable
from dashboard.operate.packages.locked import Package, packages


class Audit(BaseModel):
    """The result of a comparison: the packages that are affected, and by which data."""

    packages: int
    advisories: int
    as_of: date
    age_days: int
    source: str
    complete: bool
    accepted: list[str]
    vulnerable: list[Vulnerable]


class Command(TerminalCommand):
    """Compares the lock with a dated file; asks the network only with --refresh."""

    help = "Says which packages have known vulnerabilities, and as of which day that is known."
    examples = """
        advisories
        advisories --lock requirements-dev.lock --json
        advisories --refresh
        advisories --accept CVE-2020-13091
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Which packages, which file."""
        parser.add_argument("--lock", metavar="FILE", help="judge this lock file's packages")
        parser.add_argument("--file", metavar="FILE", help="another file of advisories")
        parser.add_argument(
            "--accept",
            action="append",
            default=[],
            metavar="ID",
            help="live with this advisory; it is named, and does not fail the command",
        )
        parser.add_argument(
            "--refresh",
            action="store_true",
            help="ask the database of advisories (needs a network) and write the file",
        )
        parser.add_argument(
            "--url",
            default=known_vulnerabilities.OSV,
            help=f"with --refresh: the service to query ({known_vulnerabilities.OSV})",
        )
        add_answer_arguments(parser)

    def act(self) -> None:
        """Refresh if asked to, then compare."""
        rows = self._packages()
        today = datetime.now(UTC).date()
        own = self.options["file"]
        if self.options["refresh"]:
            target = (
                Path(own) if own else Path(settings.GATEPOST_DATA) / known_vulnerabilities.FILE_NAME
            )
            self._refresh(rows, target, today)
        try:
            known = (
                known_vulnerabilities.read(Path(own))
                if own
                else known_vulnerabilities.newest(settings.GATEPOST_DATA)
            )
        except (OSError, ValueError, ValidationError) as error:
            raise Usage("--file", f"cannot be read: {type(error).__name__}") from error
        accepted = set(self.options["accept"])
        every = known_vulnerabilities.vulnerable(rows, known)
        bad = [v for v in every if accepted.isdisjoint({v.id, *v.aliases})]
        result = Audit(
            packages=len(rows),
            advisories=len(known.advisories),
            as_of=known.as_of,
            age_days=known.age(today),
            source=known.source,
            complete=known.complete,
            accepted=sorted(v.id for v in every if v not in bad),
            vulnerable=bad,
        )
        lines = ((v.package, v.version, v.id, v.fixed or "-", v.summary) for v in bad)
        self.show(result, table("", ("package", "version", "advisory", "fixed in", "what"), lines))
        self.say(_sentence(result))
        if bad:
            raise SystemExit(REFUSED)

    def _packages(self) -> list[Package]:
        named = self.options["lock"]
        lock = Path(named) if named else Path(settings.BASE_DIR) / "requirements.lock"
        if named and not lock.is_file():
            raise Usage("--lock", "names no file")
        try:
            return packages(lock)
        except PackageNotFoundError:
            raise Usage(
                "--lock", "is needed here: Gatepost is not installed as a package"
            ) from None

    def _refresh(self, rows: list[Package], target: Path, today: date) -> None:
        try:
            known = known_vulnerabilities.fetch(
                rows, today=today, url=self.options["url"].rstrip("/")
            )
            known_vulnerabilities.write(target, known)
        except known_vulnerabilities.Unavailable as error:
            raise Away(f"{error}; the former file stays as it is.") from error
        except OSError as error:
            raise Usage("--file", f"cannot be written: {error.strerror}") from error


def _sentence(result: Audit) -> str:
    known = f"{result.advisories} advisories as of {result.as_of}, {result.age_days} days old"
    if not result.complete:
        known += f" and not complete ({result.source})"
    count = len(result.vulnerable)
    verdict = f"{count} affected" if count else "none is affected"
    more = ""
    if result.age_days > known_vulnerabilities.OLD_DAYS or not result.complete:
        more = " Call `advisories --refresh` where the network allows it."
    if result.accepted:
        more = f" Accepted: {', '.join(result.accepted)}.{more}"
    return f"{result.packages} packages, {verdict}, by {known}.{more}"

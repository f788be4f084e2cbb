"""Check the installation: Python, packages against the lock, versions of the servers."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from django.conf import settings

from dashboard.operate.packages.locked import read_lock
from gatepost_command import START

from .findings import Finding, Seen, note, ok, warning, wrong

PYTHON_MINIMUM = (3, 12)
POSTGRESQL_MINIMUM = 16
# Valkey forked from Redis 7.2 and counts on from there.
VALKEY_MINIMUM = (7, 2)


def python(_seen: Seen) -> Iterator[Finding]:
    """The interpreter of this command; web and worker should have the same."""
    text = f"{platform.python_version()} at {sys.prefix}"
    if sys.version_info < PYTHON_MINIMUM:
        wanted = ".".join(map(str, PYTHON_MINIMUM))
        yield wrong("Python", text, f"Install Python {wanted} or newer and call `{START}` again.")
    else:
        yield ok("Python", text)


def packages(_seen: Seen) -> Iterator[Finding]:
    """Installed packages against requirements.lock."""
    lock = Path(settings.BASE_DIR) / "requirements.lock"
    if not lock.exists():
        yield _requirements()
        return
    missing, other, count = [], [], 0
    for one in read_lock(lock):
        if not one.counts_here:
            continue
        count += 1
        try:
            have = version(one.name)
        except PackageNotFoundError:
            missing.append(one.name)
            continue
        if have != one.version:
            other.append(f"{one.name} {have} instead of {one.version}")
    if missing:
        yield wrong("packages", f"missing: {_few(missing)}", f"Call `{START}` or `make install`.")
    if other:
        yield warning(
            "packages", _few(other), "Call `make install`, so that they are those of the lock."
        )
    if not (missing or other):
        yield ok("packages", f"{count} as in requirements.lock")


def _requirements() -> Finding:
    """Installed packages against what the installed Gatepost asks for."""
    from packaging.requirements import Requirement

    try:
        listed = [Requirement(line) for line in requires("gatepost") or ()]
    except PackageNotFoundError:
        nothing = "Nothing can be compared in an image."
        return note("packages", "no requirements.lock here", nothing)
    # Extras stand there as well, and nobody has to have them.
    wanted = [one for one in listed if one.marker is None or one.marker.evaluate({"extra": ""})]
    unmet = []
    for one in wanted:
        try:
            fits = one.specifier.contains(version(one.name), prereleases=True)
        except PackageNotFoundError:
            fits = False
        if not fits:
            unmet.append(f"{one.name}{one.specifier}")
    if unmet:
        return wrong("packages", f"unmet: {_few(unmet)}", "Install Gatepost again with pip.")
    return ok("packages", f"{len(wanted)} as Gatepost {version('gatepost')} asks for")


def postgresql(seen: Seen) -> Iterator[Finding]:
    """The server's version."""
    text = f"{seen.server.version_label}, {'own' if seen.own_database else 'embedded'}"
    if seen.server.version // 10_000 < POSTGRESQL_MINIMUM:
        yield wrong("PostgreSQL", text, f"Upgrade it to {POSTGRESQL_MINIMUM} or newer.")
    else:
        yield ok("PostgreSQL", text)


def valkey(seen: Seen) -> Iterator[Finding]:
    """The server's version."""
    name = "Valkey" if "valkey_version" in seen.valkey else "Redis"
    label = str(seen.valkey.get("valkey_version") or seen.valkey.get("redis_version") or "?")
    text = f"{name} {label}, {'own' if seen.own_valkey else 'embedded'}"
    numbers = tuple(int(part) for part in re.findall(r"\d+", label)[:2])
    if numbers < VALKEY_MINIMUM:
        wanted = ".".join(map(str, VALKEY_MINIMUM))
        yield wrong("Valkey", text, f"Upgrade it to {wanted} or newer.")
    else:
        yield ok("Valkey", text)


def _few(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more

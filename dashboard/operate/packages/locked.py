"""The packages of a lock file, or of what is installed where there is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT_PACKAGE = "gatepost"
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^ ;\\]+)([^\\]*)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})\b")


@dataclass(frozen=True, slots=True)
class Package:
    """One package; `hashes` are of the files that may be installed, `marker` says where."""

    name: str
    version: str
    hashes: tuple[str, ...] = ()
    marker: str = ""

    @property
    def counts_here(self) -> bool:
        """True where this platform and Python install it."""
        return not self.marker or Marker(self.marker).evaluate()


def read_lock(path: Path) -> list[Package]:
    """All packages of a lock file in pip's format; raises OSError."""
    results: list[Package] = []
    for line in path.read_text().splitlines():
        if pin := _PIN.match(line):
            marker = pin[3].strip().removeprefix(";").strip()
            results.append(Package(canonicalize_name(pin[1]), pin[2], (), marker))
        elif results and (digest := _HASH.search(line)):
            last = results[-1]
            hashes = (*last.hashes, digest[1])
            results[-1] = Package(last.name, last.version, hashes, last.marker)
    return results


def installed(root: str = ROOT_PACKAGE) -> list[Package]:
    """List the packages that an installed one needs, and all that those need.

    Raises PackageNotFoundError where `root` is not installed.
    """
    results: dict[str, Package] = {}
    rest = list(needed(root, missing_ok=False))
    while rest:
        name = rest.pop()
        if name in results:
            continue
        try:
            results[name] = Package(name, distribution(name).version)
        except PackageNotFoundError:
            continue
        rest += needed(name)
    return [results[name] for name in sorted(results)]


def packages(lock: Path) -> list[Package]:
    """Those of the lock file, or those installed where it is absent (an installed wheel)."""
    return read_lock(lock) if lock.exists() else installed()


def needed(name: str, *, missing_ok: bool = True) -> Iterator[str]:
    """Names of what an installed package requires here, extras left out."""
    try:
        lines = distribution(name).requires or []
    except PackageNotFoundError:
        if missing_ok:
            return
        raise
    for line in lines:
        one = Requirement(line)
        if one.marker is None or one.marker.evaluate({"extra": ""}):
            yield canonicalize_name(one.name)

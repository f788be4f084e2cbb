"""Known vulnerabilities of packages: a dated file that needs no network, and its refresh from OSV.

The file is JSON: {"format", "as_of", "source", "complete", "packages": [names that were looked up],
"advisories": [{"id", "aliases", "package", "summary", "affected": [range]}]}. A range has
`introduced` ("0" for from the first) and one of `fixed`, `last_affected` or neither.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, Final

import httpx2
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from pydantic import BaseModel, ConfigDict, ValidationError

from checkpoints.outbound import connections

from .locked import Package

FORMAT: Final = "gatepost-advisories-1"
SHIPPED: Final = Path(__file__).with_name("advisories.json")
FILE_NAME: Final = "advisories.json"
OSV: Final = "https://api.osv.dev"
OLD_DAYS: Final = 60
SECONDS: Final = 20.0
PAGES_MAX: Final = 20
SUMMARY_MAX: Final = 200
ANSWER_BYTES: Final = 32 * 1024 * 1024
_ENDS: Final = ("fixed", "last_affected")


class Unavailable(Exception):
    """The database of advisories did not answer as it should; the message says how."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Range(_Strict):
    """Versions from `introduced` on, before `fixed` or up to `last_affected`."""

    introduced: str = "0"
    fixed: str = ""
    last_affected: str = ""

    def holds(self, version: Version) -> bool:
        """Say whether a version lies in it; a range that cannot be read holds every version."""
        try:
            if self.introduced != "0" and version < Version(self.introduced):
                return False
            if self.fixed:
                return version < Version(self.fixed)
            return not self.last_affected or version <= Version(self.last_affected)
        except InvalidVersion:
            return True


class Advisory(_Strict):
    """One known vulnerability of one package."""

    id: str
    aliases: tuple[str, ...] = ()
    package: str
    summary: str
    affected: tuple[Range, ...]


class Advisories(_Strict):
    """All that is known as of a day; `complete` is False where people collected it by hand."""

    format: str = FORMAT
    as_of: date
    source: str
    complete: bool
    packages: tuple[str, ...]
    advisories: tuple[Advisory, ...]

    def age(self, today: date) -> int:
        """Its age in days."""
        return max(0, (today - self.as_of).days)


class Vulnerable(_Strict):
    """A package in a version that an advisory names."""

    package: str
    version: str
    id: str
    aliases: tuple[str, ...]
    summary: str
    fixed: str  # the lowest version without it that is above ours; "" where there is none


def read(path: Path) -> Advisories:
    """One file; raises OSError, or ValueError for what is no such file."""
    result = Advisories.model_validate_json(path.read_bytes())
    if result.format != FORMAT:
        raise ValueError(f"{path.name} has the unknown format {result.format[:40]!r}")
    return result


def newest(data: Path) -> Advisories:
    """The shipped file, or a newer one of a refresh in the data folder."""
    shipped = read(SHIPPED)
    try:
        refreshed = read(data / FILE_NAME)
    except (OSError, ValueError, ValidationError):
        return shipped
    return max(shipped, refreshed, key=lambda one: (one.as_of, one.complete))


def vulnerable(packages: Iterable[Package], known: Advisories) -> list[Vulnerable]:
    """The packages that an advisory names in the version that they have."""
    by_name: dict[str, list[Advisory]] = {}
    for advisory in known.advisories:
        by_name.setdefault(canonicalize_name(advisory.package), []).append(advisory)
    results = []
    for one in packages:
        for advisory in by_name.get(one.name, ()):
            version = Version(one.version)
            if any(part.holds(version) for part in advisory.affected):
                results.append(
                    Vulnerable(
                        package=one.name,
                        version=one.version,
                        id=advisory.id,
                        aliases=advisory.aliases,
                        summary=advisory.summary,
                        fixed=_fixed(advisory, version),
                    )
                )
    return results


def _fixed(advisory: Advisory, version: Version) -> str:
    above = []
    for part in advisory.affected:
        try:
            if part.fixed and Version(part.fixed) > version:
                above.append(Version(part.fixed))
        except InvalidVersion:
            continue
    return str(min(above)) if above else ""


def fetch(packages: Iterable[Package], *, today: date, url: str = OSV) -> Advisories:
    """Ask OSV about each package by name; raises Unavailable."""
    names = sorted({one.name for one in packages})
    results: list[Advisory] = []
    try:
        with connections.client(url, base_url=url, timeout=SECONDS) as client:
            for name in names:
                results += (a for entry in _ask(client, name) for a in _advisory(entry, name))
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise Unavailable(f"{url} does not answer: {type(error).__name__}") from error
    results.sort(key=lambda one: (one.package, one.id))
    return Advisories(
        as_of=today,
        source=url,
        complete=True,
        packages=tuple(names),
        advisories=tuple(results),
    )


def write(path: Path, known: Advisories) -> None:
    """Put it in place as a whole; a reader sees the former file or this one."""
    text = json.dumps(known.model_dump(mode="json", exclude_defaults=True) | {"format": FORMAT})
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(json.dumps(json.loads(text), indent=1, sort_keys=True) + "\n")
    fresh.replace(path)


def _ask(client: httpx2.Client, name: str) -> Iterator[dict[str, Any]]:
    token = ""
    for _ in range(PAGES_MAX):
        query: dict[str, Any] = {"package": {"name": name, "ecosystem": "PyPI"}}
        if token:
            query["page_token"] = token
        answer = client.post("/v1/query", json=query)
        if answer.status_code != 200 or len(answer.content) > ANSWER_BYTES:
            raise Unavailable(f"{client.base_url} answers {answer.status_code} about {name}")
        try:
            body = answer.json()
            entries, token = list(body.get("vulns") or ()), str(body.get("next_page_token") or "")
        except (ValueError, AttributeError, TypeError) as error:
            raise Unavailable(f"{client.base_url} answers no such JSON about {name}") from error
        yield from (entry for entry in entries if isinstance(entry, dict))
        if not token:
            return
    raise Unavailable(f"{client.base_url} does not come to an end about {name}")


def _advisory(entry: dict[str, Any], name: str) -> Iterator[Advisory]:
    """Read what an entry of OSV says of this package; nothing once it was withdrawn."""
    if entry.get("withdrawn"):
        return
    try:
        parts = [
            part
            for affected in entry["affected"]
            if canonicalize_name(affected["package"]["name"]) == name
            and affected["package"].get("ecosystem", "PyPI") == "PyPI"
            for part in _ranges(affected)
        ]
        text = str(entry.get("summary") or entry.get("details") or "").strip()
        if parts:
            yield Advisory(
                id=str(entry["id"]),
                aliases=tuple(sorted(map(str, entry.get("aliases") or ()))),
                package=name,
                summary=(text.splitlines() or [""])[0][:SUMMARY_MAX],
                affected=tuple(parts),
            )
    except (KeyError, TypeError, AttributeError) as error:
        raise Unavailable(f"an entry about {name} is not of the form of OSV") from error


def _ranges(affected: dict[str, Any]) -> Iterator[Range]:
    """The ranges of versions; single versions where an entry lists only those."""
    ranges = [r for r in affected.get("ranges") or () if r["type"] in ("ECOSYSTEM", "SEMVER")]
    for one in ranges:
        introduced = ""
        for event in one["events"]:
            if "introduced" in event:
                introduced = event["introduced"]
            elif introduced and (end := {k: event[k] for k in _ENDS if k in event}):
                yield Range(introduced=introduced, **end)
                introduced = ""
        if introduced:
            yield Range(introduced=introduced)
    if not ranges:
        for version in affected.get("versions") or ():
            yield Range(introduced=version, last_affected=version)

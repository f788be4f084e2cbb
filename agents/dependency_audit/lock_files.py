"""Reads which packages a lock file names, in the forms that Python's tools write."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

BYTES_MAX = 8 << 20
PACKAGES_MAX = 5_000
_PINNED = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(?P<pin>={2,3}\s*(?P<version>[^\s;#,\\]+))?"
)

Package = dict[str, Any]


class UnreadableLock(ValueError):
    """A file that names no packages in a form that is known; its text says what to do."""


def packages_of(raw: bytes, name: str) -> list[Package]:
    """[{"name", "version", "pinned", "source"}] by name, each version once; raises UnreadableLock.

    A lock for several platforms names a package in several versions. `version` is empty where the
    file pins none; `source` is a URL that replaces the index.
    """
    if len(raw) > BYTES_MAX:
        raise UnreadableLock(f"`{name}` is larger than {BYTES_MAX >> 20} MB.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableLock(f"`{name}` isn't a text file.") from None
    results: dict[tuple[str, str, str], Package] = {}
    versioned = set()
    for package in _read(text, name):
        own = normal(package["name"])
        results.setdefault((own, package["version"], package["source"]), package)
        if package["version"]:
            versioned.add(own)
    # A name without a version says nothing beside the versions that stand elsewhere in the file.
    for key in [key for key in results if key[0] in versioned and not key[1] and not key[2]]:
        del results[key]
    if not results:
        raise UnreadableLock(
            f"`{name}` names no package. Upload a requirements.txt, pylock.toml, uv.lock, "
            "poetry.lock or Pipfile.lock, or what `pip freeze` prints."
        )
    if len(results) > PACKAGES_MAX:
        raise UnreadableLock(f"`{name}` names more than {PACKAGES_MAX:,} packages; split it.")
    return [results[key] for key in sorted(results)]


def normal(name: str) -> str:
    """A package's name as indexes compare it: small letters, one dash."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _read(text: str, name: str) -> Iterator[Package]:
    if text.lstrip().startswith("{"):
        return _pipfile(text, name)
    if name.endswith((".toml", ".lock")) or re.search(r"^\[\[package", text, re.MULTILINE):
        return _toml(text, name)
    return _requirements(text)


def _package(name: Any, version: Any, source: str = "") -> Package:
    pinned = isinstance(version, str) and bool(version)
    return {
        "name": str(name),
        "version": version if pinned else "",
        "pinned": pinned or bool(source),
        "source": source,
    }


def _toml(text: str, name: str) -> Iterator[Package]:
    """uv.lock and poetry.lock have `[[package]]`, pylock.toml has `[[packages]]`."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UnreadableLock(f"`{name}` is not TOML: {error}.") from None
    rows = table.get("package") or table.get("packages") or []
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            continue
        source: Any = row.get("source") or {}
        if isinstance(source, dict) and {"editable", "virtual", "directory"} & source.keys():
            continue  # the project itself
        elsewhere = source.get("git") or source.get("url") if isinstance(source, dict) else ""
        vcs = row.get("vcs")
        elsewhere = elsewhere or (vcs.get("url", "") if isinstance(vcs, dict) else "")
        yield _package(row["name"], row.get("version"), str(elsewhere or ""))


def _pipfile(text: str, name: str) -> Iterator[Package]:
    try:
        table = json.loads(text)
    except ValueError as error:
        raise UnreadableLock(f"`{name}` is not JSON: {error}.") from None
    for group in ("default", "develop"):
        rows = table.get(group)
        for package, row in rows.items() if isinstance(rows, dict) else ():
            pin = row.get("version", "") if isinstance(row, dict) else row
            source = str(row.get("git", "")) if isinstance(row, dict) else ""
            exact = pin.removeprefix("==") if isinstance(pin, str) and pin[:2] == "==" else ""
            yield _package(package, exact, source)


def _requirements(text: str) -> Iterator[Package]:
    for line in text.replace("\\\n", " ").splitlines():
        plain = re.sub(r"(^|\s)#.*$", "", line).strip()
        if not plain or plain.startswith("-"):
            continue
        name, at, source = plain.partition(" @ ")
        match = _PINNED.match(name)
        if match is None:
            continue
        yield _package(match["name"], match["version"], source.split()[0] if at else "")

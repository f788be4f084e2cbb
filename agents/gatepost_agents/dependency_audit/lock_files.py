"""Reads which packages a lock file names, in the forms that Python's tools write."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from ..language.encodings import decoded

BYTES_MAX = 8 << 20
PACKAGES_MAX = 5_000
# Options of pip that name no package. Others, such as -r, -c and -e, lead to packages elsewhere.
_OPTIONS = re.compile(
    r"(-i|-f|--(index-url|extra-index-url|no-index|find-links|no-binary|only-binary|prefer-binary|"
    r"require-hashes|pre|trusted-host|use-feature|hash))(?=[\s=]|$)"
)
_OPTIONS_BEHIND = re.compile(r"\s--(hash|config-settings?|global-option|install-option)[=\s].*$")
TEXT_MAX = 200

Package = dict[str, Any]


class UnreadableLock(ValueError):
    """A file that names no packages in a form that is known; its text says what to do."""


def packages_of(raw: bytes, name: str) -> tuple[list[Package], list[str]]:
    """([{"name", "version", "pinned", "source"}] by name, each version once, what was not read).

    Every line or entry is a package, names none, or is among what was not read, with the place and
    the text of it. Raises UnreadableLock where there is no package at all. A lock for several
    platforms names a package in several versions. `version` is empty where the file pins none;
    `source` is a URL that replaces the index.
    """
    if len(raw) > BYTES_MAX:
        raise UnreadableLock(f"`{name}` is larger than {BYTES_MAX >> 20} MB.")
    try:
        text = decoded(raw)
    except UnicodeDecodeError:
        raise UnreadableLock(f"`{name}` isn't a text file.") from None
    results: dict[tuple[str, str, str], Package] = {}
    versioned, unread = set(), []
    for package in _read(text, name):
        if isinstance(package, str):
            unread.append(package)
            continue
        own = normal(package["name"])
        results.setdefault((own, package["version"], package["source"]), package)
        if package["version"]:
            versioned.add(own)
    # A name without a version says nothing beside the versions that stand elsewhere in the file.
    for key in [key for key in results if key[0] in versioned and not key[1] and not key[2]]:
        del results[key]
    if not results:
        lines = f" Not read: {'; '.join(unread[:3])}." if unread else ""
        raise UnreadableLock(
            f"`{name}` names no package.{lines} Upload a requirements.txt, pylock.toml, uv.lock, "
            "poetry.lock or Pipfile.lock, or what `pip freeze` prints."
        )
    if len(results) > PACKAGES_MAX:
        raise UnreadableLock(f"`{name}` names more than {PACKAGES_MAX:,} packages; split it.")
    return [results[key] for key in sorted(results)], unread


def normal(name: str) -> str:
    """A package's name as indexes compare it: small letters, one dash."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _read(text: str, name: str) -> Iterator[Package | str]:
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


def _unread(where: str, text: str) -> str:
    cut = text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}…"
    return f"{where}: {cut}"


def _toml(text: str, name: str) -> Iterator[Package | str]:
    """uv.lock and poetry.lock have `[[package]]`, pylock.toml has `[[packages]]`."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UnreadableLock(f"`{name}` is not TOML: {error}.") from None
    rows = table.get("package") or table.get("packages") or []
    for n, row in enumerate(rows if isinstance(rows, list) else [], 1):
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            yield _unread(f"package {n}", json.dumps(row, default=str))
            continue
        source: Any = row.get("source") or {}
        folder = _folder_of(row, source if isinstance(source, dict) else {})
        if folder in (".", ""):
            continue  # the project itself
        if folder is not None:
            yield _unread(f"package {n}", f"{row['name']}, a folder ({folder})")
            continue
        elsewhere = source.get("git") or source.get("url") if isinstance(source, dict) else ""
        vcs = row.get("vcs")
        elsewhere = elsewhere or (vcs.get("url", "") if isinstance(vcs, dict) else "")
        yield _package(row["name"], row.get("version"), str(elsewhere or ""))


def _folder_of(row: dict[str, Any], source: dict[str, Any]) -> str | None:
    """The folder that a package lies in, as uv.lock, poetry.lock and pylock.toml write it."""
    for kind in ("editable", "virtual", "directory"):
        if kind in source:
            return str(source[kind])
    if source.get("type") == "directory":
        return str(source.get("url", ""))
    directory = row.get("directory")
    return str(directory.get("path", "")) if isinstance(directory, dict) else None


def _pipfile(text: str, name: str) -> Iterator[Package | str]:
    try:
        table = json.loads(text)
    except ValueError as error:
        raise UnreadableLock(f"`{name}` is not JSON: {error}.") from None
    # Pipfile.lock has a group for each category; other JSON has lists and objects of other kinds.
    groups = {group: rows for group, rows in table.items() if group != "_meta"}
    if not {"default", "develop"} & groups.keys():
        return
    for group, rows in groups.items():
        if not isinstance(rows, dict):
            yield _unread(group, json.dumps(rows))
            continue
        for package, row in rows.items():
            if isinstance(row, dict) and isinstance(row.get("path"), str):
                if row["path"] != ".":
                    yield _unread(group, f"{package}, a folder ({row['path']})")
                continue
            if not isinstance(row, dict | str):
                yield _unread(group, f"{package}: {json.dumps(row)}")
                continue
            pin = row.get("version", "") if isinstance(row, dict) else row
            source = str(row.get("git", "")) if isinstance(row, dict) else ""
            exact = pin.removeprefix("==") if isinstance(pin, str) and pin[:2] == "==" else ""
            yield _package(package, exact, source)


def _requirements(text: str) -> Iterator[Package | str]:
    numbered = enumerate(text.splitlines(), 1)
    for n, line in numbered:
        while line.endswith("\\"):
            line = f"{line[:-1]} {next(numbered, (0, ''))[1]}"
        plain = re.sub(r"(^|\s)#.*$", "", line).strip()
        if not plain or _OPTIONS.match(plain):
            continue
        try:
            one = Requirement(_OPTIONS_BEHIND.sub("", plain))
        except InvalidRequirement:
            yield _unread(f"line {n}", plain)
            continue
        yield _package(one.name, _exact(one), one.url or "")


def _exact(one: Requirement) -> str:
    """The version that a requirement pins; "" where it lets others in as well."""
    pins = [pin.version for pin in one.specifier if pin.operator in ("==", "===")]
    return pins[0] if pins and not pins[0].endswith(".*") else ""

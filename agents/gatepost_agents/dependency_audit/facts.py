"""What an installed package says of itself in its metadata."""

from __future__ import annotations

import json
from importlib import metadata
from typing import Any

from .lock_files import normal

TEXT_MAX = 2_000


def installed() -> list[dict[str, Any]]:
    """The packages of this environment, as a lock file would name them."""
    results: dict[str, dict[str, Any]] = {}
    for distribution in metadata.distributions():
        name = distribution.metadata.get("Name")
        if name:
            source = _source(distribution)
            row = {"name": name, "version": distribution.version, "pinned": True, "source": source}
            results.setdefault(normal(name), row)
    return [results[key] for key in sorted(results)]


def facts_of(name: str, version: str) -> dict[str, Any]:
    """The facts of one package; {"installed": False} where this version is not installed.

    {"installed", "version", "summary", "licence": {"expression", "text", "classifiers"}, "status",
    "pythons", "requires_python", "links", "author", "description", "source"}.
    """
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return {"installed": False, "version": ""}
    if version and distribution.version != version:
        return {"installed": False, "version": distribution.version}
    about = distribution.metadata
    classifiers = [str(one) for one in about.get_all("Classifier") or []]
    return {
        "installed": True,
        "version": distribution.version,
        "summary": _short(about.get("Summary")),
        "licence": {
            "expression": _short(about.get("License-Expression")),
            "text": _short(about.get("License")),
            "classifiers": [_last(one) for one in classifiers if one.startswith("License ::")],
        },
        "status": next((_last(one) for one in classifiers if "Development Status" in one), ""),
        "pythons": [
            last
            for one in classifiers
            if one.startswith("Programming Language :: Python :: 3.") and (last := _last(one))
        ],
        "requires_python": _short(about.get("Requires-Python")),
        "links": len(about.get_all("Project-URL") or []) + bool(about.get("Home-page")),
        "author": _short(
            about.get("Author") or about.get("Author-email") or about.get("Maintainer-email")
        ),
        "description": _short(about.json.get("description")),
        "source": _source(distribution),
    }


def dates_of(name: str) -> str:
    """The whole description and the licence files, in which dates stand."""
    distribution = metadata.distribution(name)
    texts = [str(distribution.metadata.json.get("description") or "")]
    for path in distribution.files or ():
        if path.name.upper().startswith(("LICENSE", "LICENCE", "COPYING", "NOTICE")):
            located = distribution.locate_file(path)
            try:
                with open(str(located), encoding="utf-8", errors="replace") as file:
                    texts.append(file.read(65_536))
            except OSError:
                continue
    return "\n".join(texts)


def _source(distribution: metadata.Distribution) -> str:
    """The address that it was installed from, if that was no index."""
    try:
        value = json.loads(distribution.read_text("direct_url.json") or "{}")
    except ValueError:
        return ""
    return str(value.get("url", "")) if isinstance(value, dict) else ""


def _last(classifier: str) -> str:
    return classifier.rpartition("::")[2].strip()


def _short(text: Any) -> str:
    return "" if text is None else str(text).replace("\0", "")[:TEXT_MAX]

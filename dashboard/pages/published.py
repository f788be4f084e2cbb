"""Files that effects put into the published folder, by their recorded results."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from checkpoints.views import ActivityRow

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file under the published folder: `<slug>/<name>`, size in bytes."""

    slug: str
    name: str
    size: int
    path: Path


def files(activities: Iterable[ActivityRow]) -> list[PublishedFile]:
    """Files that done effects name as {"slug", "files": [{"name"}]} and that are there now."""
    root = Path(settings.GATEPOST_PUBLISHED)
    results: dict[tuple[str, str], PublishedFile] = {}
    for activity in activities:
        result = activity.result
        if activity.kind != "effect" or activity.state != "done" or not isinstance(result, dict):
            continue
        slug, listed = result.get("slug"), result.get("files")
        if not isinstance(slug, str) or not NAME.fullmatch(slug) or not isinstance(listed, list):
            continue
        for entry in listed:
            name = entry.get("name") if isinstance(entry, dict) else None
            if not isinstance(name, str) or not NAME.fullmatch(name):
                continue
            path = root / slug / name
            # A link in the folder could lead anywhere; what is published are plain files.
            if not path.is_symlink() and path.is_file():
                results[slug, name] = PublishedFile(slug, name, path.stat().st_size, path)
    return list(results.values())

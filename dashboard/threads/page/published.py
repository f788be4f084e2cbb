"""Files that effects put into the published folder, by their recorded results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from checkpoints.views import ActivityRow, ThreadRow

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MANIFEST = "manifest.json"  # as gatepost_agents.published writes it


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file under the published folder: `<slug>/<name>`, size in bytes."""

    slug: str
    name: str
    size: int
    path: Path


def files(thread: ThreadRow, activities: Iterable[ActivityRow]) -> list[PublishedFile]:
    """Files that the thread's done effects put into the folder of its workspace, and are there now.

    An effect names them as {"slug", "files": [{"name"}]}. That alone is a claim, so it counts only
    for a thread that our workers carry out, and for a report whose manifest holds the effect's own
    key. Reports of before there were folders of workspaces lie in the root: what came with a
    capsule opens none of them.
    """
    if thread.external is not None:
        return []
    root = Path(settings.GATEPOST_PUBLISHED)
    folders = [root / str(thread.workspace), *([] if thread.imported_seq else [root])]
    results: dict[tuple[str, str], PublishedFile] = {}
    for activity in activities:
        result = activity.result
        if activity.kind != "effect" or activity.state != "done" or not isinstance(result, dict):
            continue
        slug, listed = result.get("slug"), result.get("files")
        if not isinstance(slug, str) or not NAME.fullmatch(slug) or not isinstance(listed, list):
            continue
        report = _report(folders, slug, activity.idempotency_key)
        if report is None:
            continue
        for entry in listed:
            name = entry.get("name") if isinstance(entry, dict) else None
            if not isinstance(name, str) or not NAME.fullmatch(name) or name == MANIFEST:
                continue
            path = report / name
            # A link in the folder could lead anywhere; what is published are plain files.
            if not path.is_symlink() and path.is_file():
                results[slug, name] = PublishedFile(slug, name, path.stat().st_size, path)
    return list(results.values())


def _report(folders: Iterable[Path], slug: str, key: str) -> Path | None:
    """The folder of the report that an effect of this key wrote."""
    for folder in folders:
        report = folder / slug
        try:
            manifest = json.loads((report / MANIFEST).read_bytes())
        except (OSError, ValueError):
            continue
        if key and isinstance(manifest, dict) and manifest.get("key") == key:
            return None if report.is_symlink() else report
    return None

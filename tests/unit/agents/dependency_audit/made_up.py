"""Installs a package that was made up, with what an audit is to find."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path


def install(
    folder: Path, name: str, metadata: str, files: Mapping[str, str], *, version: str = "1.0"
) -> None:
    """Write files, METADATA and a RECORD with their hashes into a folder on sys.path."""
    about = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir(parents=True)
    lines = [f"{about.name}/METADATA,,", f"{about.name}/RECORD,,"]
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
        digest = hashlib.sha256(text.encode()).digest()
        mark = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        lines.append(f"{path},sha256={mark},{len(text)}")
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n{metadata}"
    )
    (about / "RECORD").write_text("\n".join(lines) + "\n")

"""Compares the files of an installed package with what its RECORD says, and finds start-up code."""

from __future__ import annotations

import base64
import csv
import hashlib
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any

DIGESTS = ("sha256", "sha384", "sha512")


def check_files(name: str) -> dict[str, Any]:
    """{"files", "hashed", "altered": [path], "missing": [path], "startup": [{"file", "line"}]}.

    A `.pth` file with a line of code runs it at each start of Python, no matter who imports.
    """
    distribution = metadata.distribution(name)
    result: dict[str, Any] = {
        "files": 0, "hashed": 0, "altered": [], "missing": [], "startup": []
    }  # fmt: skip
    # `Distribution.files` leaves out what is missing, so the RECORD is read as it stands.
    for row in csv.reader((distribution.read_text("RECORD") or "").splitlines()):
        if len(row) < 2:
            continue
        name_of, mark = row[:2]
        path = PurePosixPath(name_of)
        located = Path(str(distribution.locate_file(path)))
        result["files"] += 1
        if path.suffix == ".pth":
            result["startup"] += [{"file": name_of, "line": line} for line in _code(located)]
        mode, _, expected = mark.partition("=")
        if mode not in DIGESTS:
            continue
        digest = _digest(located, mode)
        if digest is None:
            # Bytecode and the like may be cleaned away; sources may not.
            if path.suffix in (".py", ".so", ".pyd"):
                result["missing"].append(name_of)
            continue
        result["hashed"] += 1
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != expected:
            result["altered"].append(name_of)
    return result


def _digest(path: Path, mode: str) -> bytes | None:
    """The digest of a regular file; None where there is none that can be read."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return hashlib.file_digest(file, mode).digest()
    except OSError:
        return None


def _code(path: Path) -> list[str]:
    """The lines of a .pth file that Python carries out."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [line[:200] for line in lines if line.startswith(("import ", "import\t"))]

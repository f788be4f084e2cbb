"""Files that a command makes: whole under their name, or not at all, and never over another."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from .console import Usage


def write_new(chunks: Iterable[bytes], path: Path, *, option: str = "--to") -> int:
    """Write beside the name, then rename; how many bytes. Usage where something is there."""
    if path.exists():
        raise Usage(option, f"{path} is there already; nothing is written over")
    try:
        handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=".gatepost-")
    except OSError as error:
        raise Usage(option, f"{path.parent}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
            size = file.tell()
            file.flush()
            os.fsync(file.fileno())
        os.link(scratch, path)  # refused where somebody was first
    except FileExistsError:
        raise Usage(option, f"{path} is there already; nothing is written over") from None
    finally:
        Path(scratch).unlink(missing_ok=True)
    return size

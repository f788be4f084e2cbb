"""The outbox: mails as files, for a mail program to deliver; what lies there is as good as sent."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path


def put_mails(outbox: Path, mails: Mapping[str, bytes]) -> None:
    """Write mails by their file names; OSError when that fails.

    A file that is there already is left alone: the same idempotency key wrote it.
    """
    outbox.mkdir(parents=True, exist_ok=True)
    for name, content in mails.items():
        if not (outbox / name).exists():
            _write(outbox, name, content)
    _flush(outbox)
    for name in mails:  # what killed attempts left half written
        for left in outbox.glob(f".{name}-*.part"):
            left.unlink(missing_ok=True)


def _write(folder: Path, name: str, content: bytes) -> None:
    """All of the file or none of it; the same key in another process may be doing the same."""
    aside = folder / f".{name}-{secrets.token_hex(4)}.part"
    try:
        with aside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(folder / name)
    except FileNotFoundError:
        if not (folder / name).exists():  # cleared away by one that had written it
            raise
    finally:
        aside.unlink(missing_ok=True)


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

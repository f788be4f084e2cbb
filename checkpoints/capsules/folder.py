"""A capsule that is unpacked: a folder, as the file store keeps one of each thread's newest state.

What MANIFEST names is the capsule; whatever else lies there is for people and not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from . import layout
from .layout import MANIFEST, BadCapsule, Reader

_NEWEST = re.compile(r"checkpoint-([0-9]{6,10})")


def name_of(number: int) -> str:
    """The name of a checkpoint's folder."""
    return f"checkpoint-{number:06}"


def number_of(name: str) -> int | None:
    """The checkpoint of a folder of this name; None where it is none."""
    match = _NEWEST.fullmatch(name)
    return int(match[1]) if match else None


def newest(path: Path) -> Path:
    """The folder itself, or of a thread's folder that of its newest whole checkpoint."""
    if (path / MANIFEST).is_file():
        return path
    whole = [
        (number, one)
        for one in path.iterdir()
        if (number := number_of(one.name)) is not None and (one / MANIFEST).is_file()
    ]
    if not whole:
        raise BadCapsule(f"{path} is not a capsule: there is no MANIFEST in it.")
    return max(whole)[1]


@contextmanager
def opened(path: Path) -> Iterator[Reader]:
    """A folder to read, checked against its MANIFEST; raises BadCapsule."""
    try:
        root = newest(path)
        with layout.open_regular(root / MANIFEST) as file:
            raw = file.read(layout.MANIFEST_MAX + 1)
        names = [MANIFEST, *layout.manifest_of(raw)]
        sizes = {name: _member(root, name).stat().st_size for name in names}
    except OSError as error:
        raise BadCapsule(f"{path}: {error.strerror}.") from error
    reader = Reader(sizes, partial(_open, root))
    reader.check()
    yield reader


def _open(root: Path, name: str) -> IO[bytes]:
    return layout.open_regular(_member(root, name))


def _member(root: Path, name: str) -> Path:
    """Resolve the path of a member; refuses links, missing files and names beyond the folder."""
    layout.check_name(name)
    path = root
    for part in name.split("/"):
        path = path / part
        if path.is_symlink():
            raise BadCapsule(f"{name} in the capsule is a link.")
    if not path.is_file():
        raise BadCapsule(f"{name} is missing in the capsule.")
    return path

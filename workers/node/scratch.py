"""Temporary files of a working call: a folder that goes with it, files that stay as artifacts.

A path below the folder that a result or a cursor names is gone with the process, and on another
machine it never was. So each such file is kept as an artifact when the save point is written, and
its reference takes the place of the path: the record holds nothing that belongs to one machine.
"""

from __future__ import annotations

import mimetypes
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..authoring.errors import StepFailed

PREFIX = "gatepost-"
ANY = "application/octet-stream"
Keep = Callable[[str, Path, str], dict[str, Any]]
# When a file was last changed, and its size.
type Stamp = tuple[int, int]


class Scratch:
    """The temporary folder of one call, made when it is first asked for."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._artifacts: dict[tuple[Path, Stamp], dict[str, Any]] = {}
        self._remove: Callable[[], Any] = lambda: None

    @property
    def folder(self) -> Path:
        """The folder; empty at first, on this machine only."""
        if self._folder is None:
            made = tempfile.mkdtemp(prefix=PREFIX)
            # Also where a call leaves by an exception that nobody catches.
            self._remove = weakref.finalize(self, shutil.rmtree, made, ignore_errors=True)
            self._folder = Path(made).resolve()
        return self._folder

    def remove(self) -> None:
        """Delete the folder with all that was not kept."""
        self._remove()
        self._folder = None

    def as_texts(self, value: Any) -> Any:
        """The value with paths below the folder as texts."""
        return self._replaced(value, lambda path: str(path)) if self._folder else value

    def stamps(self, value: Any) -> dict[Path, Stamp]:
        """The files that a value names, as they are now."""
        return {path: stamp_of(path) for path in self._named(value)} if self._folder else {}

    def with_artifacts(self, value: Any, keep: Keep) -> Any:
        """The value with a reference in the place of each path; `keep` stores a file.

        Raises StepFailed for a path of a folder, or one that leads out of it.
        """
        if self._folder is None:
            return value

        def artifact_of(path: Path) -> dict[str, Any]:
            known = (path, stamp_of(path))
            if known not in self._artifacts:
                media_type = mimetypes.guess_type(path.name)[0] or ANY
                self._artifacts[known] = keep(path.name, path, media_type)
            return dict(self._artifacts[known])

        return self._replaced(value, artifact_of)

    def _named(self, value: Any) -> Iterator[Path]:
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            for item in value:
                yield from self._named(item)
        elif (path := self._file(value)) is not None:
            yield path

    def _replaced(self, value: Any, replace: Callable[[Path], Any]) -> Any:
        if isinstance(value, list):
            return [self._replaced(item, replace) for item in value]
        if isinstance(value, dict):
            return {name: self._replaced(item, replace) for name, item in value.items()}
        path = self._file(value)
        return value if path is None else replace(path)

    def _file(self, value: Any) -> Path | None:
        """The file in the folder that a value names; None where it names none."""
        if not isinstance(value, str | Path) or not str(value).startswith(str(self._folder)):
            return None
        path = Path(value)
        if self._folder not in (path, *path.parents) or "\0" in str(value):
            return None
        if path.is_dir():
            raise StepFailed(
                f"{path.name!r} is a folder of ctx.scratch(): return the paths of its files, so "
                "that each is kept."
            )
        if not path.is_file():
            return None
        if not path.resolve().is_relative_to(self.folder):
            raise StepFailed(f"{path.name!r} in ctx.scratch() is a link that leads out of it.")
        return path


def stamp_of(path: Path) -> Stamp:
    """The time of a file's last change, and its size; zeros where it is gone."""
    try:
        stat = path.stat()
    except OSError:
        return (0, 0)
    return (stat.st_mtime_ns, stat.st_size)

"""Files of the repository that the rules read."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from tools.size import FLOORS, ROOT


@cache
def tracked() -> list[Path]:
    """The files of the repository, as git knows them."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def files(suffix: str, folders: tuple[str, ...]) -> list[Path]:
    """The files of these top folders with a suffix, without migrations, in order."""
    return sorted(
        path
        for path in tracked()
        if path.suffix == suffix
        and path.relative_to(ROOT).parts[0] in folders
        and "migrations" not in path.parts
    )


def product() -> list[Path]:
    """The modules of the product."""
    return files(".py", FLOORS)


def name(path: Path) -> str:
    """The path of a file inside the repository."""
    return path.relative_to(ROOT).as_posix()

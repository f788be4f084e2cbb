"""The hash of the working copy as it stands, uncommitted and new files included."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .table import ROOT


class NoTree(Exception):
    """Git can't say what the working copy holds."""


def working_tree(root: Path = ROOT) -> str:
    """The id of the git tree that a commit of everything here would have (ignored files aside).

    The repository stays as it is: a copy of its index takes the files, and what is new is written
    to a temporary object store. Git reads only files whose size or time differs from the index.
    """
    with tempfile.TemporaryDirectory(prefix="gp-tree-") as scratch:
        index = Path(scratch, "index")
        objects = Path(scratch, "objects")
        objects.mkdir()
        # Of a commit under way (a hook), the index and the folder of another tree may be set.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        current, stored = _git(
            root, environment, "rev-parse", "--path-format=absolute",
            "--git-path", "index", "--git-path", "objects",
        ).splitlines()  # fmt: skip
        if Path(current).exists():
            shutil.copy2(current, index)
        environment |= {
            "GIT_INDEX_FILE": str(index),
            "GIT_OBJECT_DIRECTORY": str(objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": stored,
        }
        _git(root, environment, "add", "--all", ":/")
        return _git(root, environment, "write-tree").strip()


def _git(root: Path, environment: dict[str, str], *arguments: str) -> str:
    try:
        return subprocess.run(
            ["git", *arguments],
            cwd=root, env=environment, check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
    except FileNotFoundError as error:
        raise NoTree("git is not installed, so outcomes can't be tied to this tree") from error
    except subprocess.CalledProcessError as error:
        raise NoTree(f"git can't read this tree: {error.stderr.strip()}") from error

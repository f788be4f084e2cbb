"""An author's environments: the wheels beside other packages, no settings, no clone on the path."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.faults.embedded.helpers import ROOT, clean_environment
from tools import environments

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Author:
    """An environment of an author, and what happens in it."""

    python: Path

    def __call__(self, *command: str, folder: Path) -> str:
        """What the command of this environment printed; AssertionError if it failed."""
        done = self.run(*command, folder=folder)
        assert done.returncode == 0, f"{command}\n{done.stdout[-8_000:]}{done.stderr[-8_000:]}"
        return done.stdout + done.stderr

    def run(self, *command: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run a command of this environment in a folder of the author."""
        return subprocess.run(
            [str(self.python.with_name(command[0])), *command[1:]],
            cwd=folder,
            env=self.variables(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def variables(self) -> dict[str, str]:
        """The variables of somebody's shell: nothing of Django, Gatepost or the tests."""
        ours = ("DJANGO", "GATEPOST", "PYTEST", "PYTHON", "VIRTUAL_ENV")
        clean = {k: v for k, v in clean_environment().items() if not k.startswith(ours)}
        return clean | {"PATH": f"{self.python.parent}{os.pathsep}{clean.get('PATH', '')}"}


def wheels(folder: Path) -> dict[str, Path]:
    """{distribution: file} of the product, its agents and its client, built from this tree."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--wheel-dir", str(folder)]
    projects = [str(ROOT / name) for name in (".", "agents", "clients/python")]
    # A build backend is a program of this environment.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    subprocess.run([*command, *projects], check=True, env=os.environ | {"PATH": path})
    return {path.name.partition("-")[0]: path for path in folder.glob("*.whl")}


def author(folder: Path, lock: str, *packages: Path) -> Author:
    """A new environment with these wheels; what they need comes from an environment of the lock."""
    base = environments.python(f"author-{lock}", HERE / f"{lock}.lock")
    subprocess.run([str(base), "-m", "venv", "--without-pip", str(folder)], check=True)
    made = Author(folder / "bin" / "python")
    (own,) = folder.glob("lib/python*/site-packages")
    (theirs,) = base.parents[1].glob("lib/python*/site-packages")
    (own / "beside.pth").write_text(f"{theirs}\n")
    install = [str(base), "-m", "pip", "--python", str(made.python), "install", "--quiet"]
    subprocess.run([*install, "--no-deps", "--no-index", *map(str, packages)], check=True)
    return made

"""Environments beside ours, for packages whose pins cannot meet ours: build/NAME, from a lock."""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import sys
import sysconfig
from pathlib import Path

BUILD = Path(__file__).resolve().parent.parent / "build"


def python(name: str, lock: Path, *, with_ours: bool = False) -> Path:
    """The interpreter of build/NAME, which git ignores; RuntimeError if it can't be installed.

    Made anew when it is missing or older than the lock. `with_ours` lets it import the packages of
    this environment as well; those of the lock come first.
    """
    BUILD.mkdir(exist_ok=True)
    # Several processes of a test run come here at once: one installs, the others wait for it.
    with (BUILD / f"{name}.lock").open("w") as waiting:
        fcntl.flock(waiting, fcntl.LOCK_EX)
        return _installed(name, lock, with_ours)


def _installed(name: str, lock: Path, with_ours: bool) -> Path:
    folder = BUILD / name
    result = folder / "bin" / "python"
    stamp, wanted = folder / "lock.sha256", hashlib.sha256(lock.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return result
    print(f"installing {name} into build/{name} ...", file=sys.stderr, flush=True)
    commands = (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(result), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         "--require-hashes", "--requirement", str(lock)],
    )  # fmt: skip
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise RuntimeError(f"{name} could not be installed: {last}")
    if with_ours:
        (own,) = folder.glob("lib/python*/site-packages")
        (own / "ours.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    stamp.write_text(wanted)
    return result

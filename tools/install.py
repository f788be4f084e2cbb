"""Brings .venv in step with a lock file and a project beside it; does nothing when it is already.

Called as `python tools/install.py requirements.lock agents` by any Python >= 3.12; needs nothing
but the standard library. One line per phase with a tick and seconds.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TERMINAL = sys.stdout.isatty()
ROOT = Path(__file__).resolve().parent.parent
DEVELOPERS_LOCK = ROOT / "requirements-dev.lock"
HASHED = ("install", "--require-hashes", "--no-deps", "-r")
TICK = "✓" if (sys.stdout.encoding or "").lower().startswith("utf") else "ok"


def show(text: str) -> None:
    """Text that the next one overwrites; only on a terminal."""
    if TERMINAL:
        print(f"\r\033[K  … {text}", end="", flush=True)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """One line for one phase, once it is done."""
    started = time.monotonic()
    show(name)
    try:
        yield
    finally:
        if TERMINAL:
            print("\r\033[K", end="")
    print(f"  {TICK} {name:<40}{time.monotonic() - started:5.1f} s", flush=True)


def usable(folder: Path) -> bool:
    """Whether the environment's own Python starts and is new enough."""
    probe = "import sys, pip; sys.exit(sys.version_info < (3, 12))"
    try:
        return subprocess.run([folder / "bin" / "python", "-c", probe]).returncode == 0
    except OSError:
        return False


def pip(python: Path, *arguments: str, total: int, word: str) -> None:
    """Run pip and count along; on failure show its last lines and end."""
    tail: list[str] = []
    count = 0
    process = subprocess.Popen(
        [python, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A build backend may be a program of the environment.
        env=os.environ | {"PATH": f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"},
    )
    for line in process.stdout or ():
        tail = [*tail[-14:], line.rstrip()]
        if line.startswith("Collecting "):
            count += 1
            show(f"{word} {count} of {total}: {line.split()[1].partition('==')[0]}")
        elif line.startswith("Installing collected"):
            show(f"{word}: unpacking")
    if process.wait() != 0:
        print("\n".join(tail), file=sys.stderr)
        sys.exit("The packages could not be installed; the lines above are pip's. Call make again.")


def bring_uv(python: Path) -> bool:
    """Have uv, which is several times faster than pip; False where pip has to do it.

    uv does not read pip's configuration: where that names another index, pip is left to it.
    """
    configured = subprocess.run(
        [python, "-m", "pip", "config", "list"], capture_output=True, text=True
    ).stdout
    pin = re.search(r"^uv==.*(\n .*)+", DEVELOPERS_LOCK.read_text(), re.MULTILINE)
    if pin is None or re.search(r"\.(index-url|no-index)\b", configured):
        return False
    show("uv")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as requirement:
        requirement.write(f"{pin[0]}\n")
        requirement.flush()
        bring = [python, "-m", "pip", "--disable-pip-version-check", *HASHED, requirement.name]
        return subprocess.run(bring, capture_output=True).returncode == 0


def install(python: Path, *arguments: str | Path, total: int, word: str, has_uv: bool) -> None:
    """Install by uv; where it is not here or fails, by pip."""
    if has_uv:
        show(word)
        command = [python, "-m", "uv", "--no-config", "pip", *arguments, "--python", python]
        if subprocess.run(command, capture_output=True).returncode == 0:
            return
    quiet = ("--prefer-binary", "--progress-bar", "off")
    pip(python, *map(os.fspath, arguments), *quiet, total=total, word=word)


def main() -> None:
    if sys.version_info < (3, 12):  # noqa: UP036 - said by the very Python that is too old
        sys.exit("The .venv here is of an older Python: delete it and call make again.")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lock", type=Path)
    parser.add_argument(
        "project", type=Path, nargs="?", help="a folder, installed as it lies there"
    )
    parser.add_argument("--venv", type=Path, default=Path(".venv"))
    options = parser.parse_args()
    folder: Path = options.venv.absolute()
    locks = [options.lock]
    files = [options.lock]
    if options.project:
        locks.append(options.project / "requirements.lock")
        files += [locks[-1], options.project / "pyproject.toml"]
    stamp = folder / f".{options.lock.stem}.stamp"
    wanted = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted and (folder / "bin" / "python").exists():
        return
    if not usable(folder):
        with phase(f"environment, Python {sys.version.split()[0]}"):
            shutil.rmtree(folder, ignore_errors=True)
            venv.EnvBuilder(with_pip=True, symlinks=True).create(folder)
    python = folder / "bin" / "python"
    has_uv: bool | None = None
    for lock in locks:
        total = len(re.findall(rb"^[a-z0-9].*==", lock.read_bytes(), re.MULTILINE))
        with phase(f"{total} packages of {os.path.relpath(lock)}"):
            has_uv = bring_uv(python) if has_uv is None else has_uv
            install(python, *HASHED, lock, total=total, word="packages", has_uv=has_uv)
    if options.project:
        with phase(f"{options.project}, as it lies here"):
            # Its lock has brought what builds it.
            command = ("install", "--no-deps", "--no-build-isolation", "--editable")
            install(python, *command, options.project, total=1, word="agents", has_uv=bool(has_uv))
    stamp.write_text(wanted)


if __name__ == "__main__":
    main()

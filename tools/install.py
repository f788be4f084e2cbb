"""Brings .venv in step with a lock file; does nothing when it is already.

Called as `python tools/install.py requirements.lock [VENV]` by any Python >= 3.12; needs nothing
but the standard library. One line per phase with a tick and seconds.
"""

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
DEVELOPERS_LOCK = Path(__file__).resolve().parent.parent / "requirements-dev.lock"
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


def uv(python: Path, lock: Path) -> bool:
    """Install by uv, several times faster than pip; False where pip has to do it.

    uv does not read pip's configuration: where that names another index, pip is left to it.
    """
    configured = subprocess.run(
        [python, "-m", "pip", "config", "list"], capture_output=True, text=True
    ).stdout
    pin = re.search(r"^uv==.*(\n .*)+", DEVELOPERS_LOCK.read_text(), re.MULTILINE)
    if pin is None or re.search(r"\.(index-url|no-index)\b", configured):
        return False
    show("uv")
    hashed = ("install", "--require-hashes", "--no-deps", "-r")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as requirement:
        requirement.write(f"{pin[0]}\n")
        requirement.flush()
        bring = [python, "-m", "pip", "--disable-pip-version-check", *hashed, requirement.name]
        if subprocess.run(bring, capture_output=True).returncode:
            return False
    show("packages")
    install = [python, "-m", "uv", "--no-config", "pip", *hashed, lock, "--python", python]
    return subprocess.run(install, capture_output=True).returncode == 0


def main() -> None:
    if sys.version_info < (3, 12):  # noqa: UP036 - said by the very Python that is too old
        sys.exit("The .venv here is of an older Python: delete it and call make again.")
    lock = Path(sys.argv[1])
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else ".venv").absolute()
    content = lock.read_bytes()
    stamp = folder / f".{lock.stem}.stamp"
    wanted = hashlib.sha256(content).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted and (folder / "bin" / "python").exists():
        return
    if not usable(folder):
        with phase(f"environment, Python {sys.version.split()[0]}"):
            shutil.rmtree(folder, ignore_errors=True)
            venv.EnvBuilder(with_pip=True, symlinks=True).create(folder)
    total = len(re.findall(rb"^[a-z0-9].*==", content, re.MULTILINE))
    python = folder / "bin" / "python"
    with phase(f"{total} packages of {lock.name}"):
        if not uv(python, lock):
            pip(
                python,
                *("install", "--require-hashes", "--no-deps", "--prefer-binary"),
                *("--progress-bar", "off", "-r", os.fspath(lock)),
                total=total,
                word="packages",
            )
    stamp.write_text(wanted)


if __name__ == "__main__":
    main()

"""langgraph's own tests: the source distribution that the lock names, fetched and unpacked."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from pathlib import Path

from tools import environments

LOCK = Path(__file__).with_name("requirements.lock")


def python() -> Path:
    """The interpreter that has what these tests need."""
    return environments.python("langgraph-suite", LOCK)


def folder() -> Path:
    """Where the source distribution lies, which git ignores; RuntimeError where it can't come."""
    (wanted,) = re.findall(r"^langgraph==.*?(?=^\S)", LOCK.read_text(), re.MULTILINE | re.DOTALL)
    (version,) = re.findall(r"==(\S+)", wanted)
    home = environments.BUILD / "langgraph-sources"
    result = home / f"langgraph-{version}"
    if result.is_dir():
        return result
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    listed = home / "wanted.txt"
    listed.write_text(wanted)
    command = [str(python()), "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-binary", ":all:", "--require-hashes", "-r", str(listed)]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"langgraph's sources could not be fetched: {done.stderr[-500:]}")
    (packed,) = home.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(home, filter="data")
    return result

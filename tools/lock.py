"""Writes the lock files, or with --check says whether they are in step with pyproject.toml.

requirements.lock is what `make up` installs: of the extras, `server` is in it.
agents/requirements.lock is what the agents that ship need beside it, and what builds them.
requirements-dev.lock is all that `make check` needs, which is every extra as well, so that its code
is tested beside our pins.
The check needs no network: each lock begins with the hash of what it was made from, and each
requirement must be met by the version that the lock names.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT, AGENTS = "pyproject.toml", "agents/pyproject.toml"
MARK = "# made from pyproject.toml, dependencies "


@dataclass(frozen=True)
class Lock:
    """What one lock is made of; versions are those of the locks in `beside`."""

    projects: tuple[str, ...]
    groups: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


LOCKS = {
    "requirements.lock": Lock((PROJECT,), extras=("server",)),
    "agents/requirements.lock": Lock((AGENTS,), beside=("requirements.lock",)),
    "requirements-dev.lock": Lock(
        (PROJECT, AGENTS),
        groups=("test", "lint"),
        extras=("server", "models", "mcp", "sso", "s3", "memory", "milvus"),
        beside=("requirements.lock", "agents/requirements.lock"),
    ),
}


def wanted(lock: Lock) -> list[str]:
    """The requirements of everything that decides what is installed, sorted."""
    results = []
    for name in lock.projects:
        read = tomllib.loads((ROOT / name).read_text())
        results += read["project"]["dependencies"]
        if name == AGENTS:
            results += read["build-system"]["requires"]
            continue
        for group in lock.groups:
            results += read["dependency-groups"][group]
        for extra in lock.extras:
            results += read["project"]["optional-dependencies"][extra]
    # The product itself is here already.
    return sorted(set(results) - {"gatepost"})


def source_hash(lock: Lock) -> str:
    """The hash of the requirements and of the oldest Python."""
    python = tomllib.loads((ROOT / PROJECT).read_text())["project"]["requires-python"]
    return hashlib.sha256(json.dumps([python, *wanted(lock)]).encode()).hexdigest()[:16]


def pins(lock: Path) -> dict[str, str]:
    """Package to version, as locked."""
    matches = re.findall(r"^([a-z0-9][a-z0-9._-]*)==([^\s;]+)", lock.read_text(), re.MULTILINE)
    return dict(matches)


def write() -> None:
    """Resolve anew; what is already locked stays unless `--upgrade` is given."""
    for name, lock in LOCKS.items():
        command = [sys.executable, "-m", "uv", "pip", "compile", "-", "--quiet"]
        command += ["--generate-hashes", "--universal", "--no-emit-index-url", "--no-header"]
        command += ["--no-annotate", "--python-version", "3.12", "--output-file", name]
        for other in lock.beside:
            command += ["--constraint", other]
        command += sys.argv[1:]
        subprocess.run(
            command,
            cwd=ROOT,
            check=True,
            input="\n".join(wanted(lock)),
            text=True,
            env=os.environ | {"UV_CUSTOM_COMPILE_COMMAND": ""},
        )
        written = ROOT / name
        written.write_text(f"{MARK}{source_hash(lock)}\n{written.read_text()}")


def check() -> list[str]:
    """What is out of step, in sentences."""
    faults = []
    for name, lock in LOCKS.items():
        path = ROOT / name
        text = path.read_text() if path.exists() else ""
        if not text.startswith(f"{MARK}{source_hash(lock)}\n"):
            faults.append(f"{name} is older than pyproject.toml: call `make lock`.")
        if "://" in text:
            faults.append(f"{name} holds an address: call `make lock`.")
    if not faults:
        run, agents, everything = (pins(ROOT / name) for name in LOCKS)
        faults += [
            f"{package} is {version} for `make up` but {everything.get(package)} for tests."
            for package, version in (run | agents).items()
            if everything.get(package) != version
        ]
    return faults


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        problems = check()
        print("\n".join(problems) or "The lock files are in step with pyproject.toml.")
        sys.exit(bool(problems))
    write()

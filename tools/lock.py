"""Writes the lock files, or with --check says whether they are in step with pyproject.toml.

requirements.lock is what `make up` installs: no extra is in it. requirements-dev.lock is all that
`make check` needs, which is every extra as well, so that its code is tested beside our pins.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# {lock: (groups, extras)}
LOCKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "requirements.lock": ((), ()),
    "requirements-dev.lock": (("test", "lint"), ("models", "mcp", "sso")),
}
MARK = "# made from pyproject.toml, dependencies "


def source_hash(groups: tuple[str, ...], extras: tuple[str, ...]) -> str:
    """The hash of everything in pyproject.toml that decides what is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = {
        "python": project["project"]["requires-python"],
        "dependencies": sorted(project["project"]["dependencies"]),
        "groups": {name: sorted(project["dependency-groups"][name]) for name in groups},
    }
    if extras:
        optional = project["project"]["optional-dependencies"]
        wanted["extras"] = {name: sorted(optional[name]) for name in extras}
    return hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:16]


def pins(lock: Path) -> dict[str, str]:
    """Package to version, as locked."""
    matches = re.findall(r"^([a-z0-9][a-z0-9._-]*)==([^\s;]+)", lock.read_text(), re.MULTILINE)
    return dict(matches)


def write() -> None:
    """Resolve anew; what is already locked stays unless `--upgrade` is given."""
    for name, (groups, extras) in LOCKS.items():
        command = [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "--quiet"]
        for group in groups:
            command += ["--group", group]
        for extra in extras:
            command += ["--extra", extra]
        command += ["--generate-hashes", "--universal", "--no-emit-index-url", "--no-header"]
        command += ["--no-annotate", "--python-version", "3.12", "--output-file", name]
        if name != "requirements.lock":
            command += ["--constraint", "requirements.lock"]
        command += sys.argv[1:]
        subprocess.run(
            command, cwd=ROOT, check=True, env=os.environ | {"UV_CUSTOM_COMPILE_COMMAND": ""}
        )
        lock = ROOT / name
        lock.write_text(f"{MARK}{source_hash(groups, extras)}\n{lock.read_text()}")


def check() -> list[str]:
    """What is out of step, in sentences."""
    faults = []
    for name, (groups, extras) in LOCKS.items():
        lock = ROOT / name
        text = lock.read_text() if lock.exists() else ""
        if not text.startswith(f"{MARK}{source_hash(groups, extras)}\n"):
            faults.append(f"{name} is older than pyproject.toml: call `make lock`.")
        if "://" in text:
            faults.append(f"{name} holds an address: call `make lock`.")
    if not faults:
        run, everything = (pins(ROOT / name) for name in LOCKS)
        faults += [
            f"{package} is {version} for `make up` but {everything.get(package)} for tests."
            for package, version in run.items()
            if everything.get(package) != version
        ]
    return faults


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        problems = check()
        print("\n".join(problems) or "The lock files are in step with pyproject.toml.")
        sys.exit(bool(problems))
    write()

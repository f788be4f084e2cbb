"""pg_dump and pg_restore: the fitting version, run against the server of this process."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from dashboard.configuration.logs import masked
from dashboard.errors import Conflict
from dashboard.operate.embedded.process.folders import EmbeddedError
from dashboard.operate.embedded.process.library import postgres_programs

INSTALLED: Final = Path("/usr/lib/postgresql")  # Debian's packages, one folder a version
PROGRESS_SECONDS: Final = 5.0
# Ours, which would follow the programs into sessions where they have no place.
_LEFT_OUT: Final = ("options", "application_name", "client_encoding", "host", "port", "hostaddr")


def server_major() -> int:
    """The major version of the server that this process is connected to."""
    connection.ensure_connection()
    return int(connection.connection.info.server_version) // 10_000


def program(name: str, *, major: int) -> Path:
    """The oldest installed program of this name that knows servers of `major`; raises Conflict."""
    versions = [(version, path) for path in _candidates(name) if (version := _major(path)) >= major]
    if not versions:
        raise Conflict(
            f"{name} of PostgreSQL {major} or newer is needed here: install the package "
            f"postgresql-client-{major}."
        )
    return min(versions)[1]


def _candidates(name: str) -> Iterator[Path]:
    if on_path := shutil.which(name):
        yield Path(on_path)
    yield from INSTALLED.glob(f"*/bin/{name}")
    try:
        yield postgres_programs(settings.PLACES) / name
    except EmbeddedError:
        return  # images of our own leave the embedded server out


def _major(path: Path) -> int:
    try:
        shown = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20)
    except OSError:
        return 0
    version = re.search(r"(\d+)(\.|devel|beta|rc)", shown.stdout)
    return int(version[1]) if version else 0


def perform(arguments: Sequence[str | Path], *, progress: Callable[[], None]) -> None:
    """Run a program against the server of this process's connection.

    Calls `progress` every few seconds. Raises Conflict with the last line of what the program said.
    """
    connection.ensure_connection()
    info: Any = connection.connection.info
    known = {k: v for k, v in info.get_parameters().items() if k not in _LEFT_OUT}
    # The very server that has the snapshot, of those that the address may name.
    address = make_conninfo(**known, host=info.host, port=info.port)
    environment = os.environ | ({"PGPASSWORD": info.password} if info.password else {})
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [*arguments, f"--dbname={address}", "--no-password"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=output,
        )
        try:
            _wait(process, progress)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        if process.returncode != 0:
            output.seek(0)
            lines = output.read().decode(errors="replace").strip().splitlines()
            raise Conflict(f"{Path(arguments[0]).name} failed: {masked(_reason(lines))}")


def _wait(process: subprocess.Popen[bytes], progress: Callable[[], None]) -> None:
    while True:
        try:
            process.wait(PROGRESS_SECONDS)
        except subprocess.TimeoutExpired:
            progress()
        else:
            return


def _reason(lines: Sequence[str]) -> str:
    """The first error; what follows it are its consequences."""
    errors = [line for line in lines if "error:" in line]
    return (errors or [*lines[-1:], "no reason given"])[0]

"""The peers' own Python: made from requirements.lock in build/peers, which git ignores."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from psycopg.conninfo import make_conninfo

from ..servers import Bench

HERE = Path(__file__).resolve().parent
LOCK = HERE / "requirements.lock"
FOLDER = HERE.parents[1] / "build" / "peers"


def python() -> Path:
    """The interpreter, installed when it is missing or older than the lock; RuntimeError if not."""
    found = FOLDER / "bin" / "python"
    stamp, wanted = FOLDER / "lock.sha256", hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return found
    print("installing the peers into build/peers ...", file=sys.stderr, flush=True)
    commands = (
        [sys.executable, "-m", "venv", "--clear", str(FOLDER)],
        [str(found), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         "--require-hashes", "--requirement", str(LOCK)],
    )  # fmt: skip
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise RuntimeError(f"the peers could not be installed: {last}")
    stamp.write_text(wanted)
    return found


def ask(bench: Bench, script: str, **asked: Any) -> dict[str, Any]:
    """Let one peer do its task in an empty database of the bench's server."""
    interpreter = python()
    name = f"peer_{script}_{'delta' if asked.get('delta') else 'full'}"
    with bench.connect() as server:
        server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        server.execute(f'CREATE DATABASE "{name}"')
    address = make_conninfo(bench.address, dbname=name)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [str(interpreter), str(HERE / f"{script}.py")],
            input=json.dumps({"address": address, **asked}),
            capture_output=True,
            text=True,
            cwd=folder,
            check=False,
            timeout=1_800,
        )
    with bench.connect() as server:
        server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
    if done.returncode:
        raise RuntimeError(f"{script}: {(done.stderr.strip().splitlines() or ['ended'])[-1]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found

"""The peers' own Python: made from requirements.lock in build/peers, which git ignores."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from psycopg.conninfo import make_conninfo

from tools import environments

from ..servers import Bench

HERE = Path(__file__).resolve().parent
LOCK = HERE / "requirements.lock"


def ask(bench: Bench, script: str, **options: Any) -> dict[str, Any]:
    """Let one peer do its task in an empty database of the bench's server."""
    interpreter = environments.python("peers", LOCK)
    name = f"peer_{script}_{'delta' if options.get('delta') else 'full'}"
    with bench.connect() as server:
        server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        server.execute(f'CREATE DATABASE "{name}"')
    address = make_conninfo(bench.address, dbname=name)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [str(interpreter), str(HERE / f"{script}.py")],
            input=json.dumps({"address": address, **options}),
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
    payload: dict[str, Any] = json.loads(done.stdout)
    return payload

"""A client that a generator makes from our OpenAPI document does a thread from start to end."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.contract.clients.bench import Server
from tools import environments

pytestmark = pytest.mark.nightly

HERE = Path(__file__).parent
# Three calls that answer or take no JSON, and spans, which may be protobuf: it leaves them out.
LEFT_OUT = 4


def test_a_generated_client_works_on_a_thread_to_its_end(server: Server, tmp_path: Path) -> None:
    interpreter = environments.python("openapi-client", HERE / "requirements.lock")
    schema = tmp_path / "schema.json"
    schema.write_text(
        json.dumps(server.operator.http.get(f"{server.url}/api/schema/?format=json").json())
    )
    (tmp_path / "config.yaml").write_text("literal_enums: true\n")
    made = subprocess.run(
        [
            str(interpreter.with_name("openapi-python-client")),
            *("generate", "--meta", "none", "--path", str(schema)),
            *("--config", str(tmp_path / "config.yaml")),
            *("--output-path", str(tmp_path / "generated")),
        ],
        capture_output=True,
        text=True,
        env={"PATH": f"{interpreter.parent}:{os.environ['PATH']}"},
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert made.stderr.count("WARNING") == LEFT_OUT, made.stderr
    done = subprocess.run(
        [str(interpreter), str(HERE / "walk.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(tmp_path),
            "GATEPOST_URL": server.url,
            "GATEPOST_TOKEN": server.token,
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    thread = done.stdout.split()[-1]
    assert server.wait_status(thread, "succeeded")
    assert server.state(thread) == {"goal": "tea", "notes": ["hot"]}

"""Docker's own client reads docker-compose.yml, where there is one."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from tests.containers import ROOT
from tests.embedded.helpers import clean_environment


def test_the_client_understands_the_file() -> None:
    version = ["docker", "compose", "version"]
    if not shutil.which("docker") or subprocess.run(version, capture_output=True).returncode:
        pytest.skip("no `docker compose` here; tests/test_containers.py reads the file itself")
    done = subprocess.run(
        ["docker", "compose", "config", "--format", "json"],
        env=clean_environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)["services"]) == {
        "migrate", "postgres", "valkey", "web", "worker",
    }  # fmt: skip

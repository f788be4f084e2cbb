"""A client of compose reads docker-compose.yml, where there is one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.faults.embedded.helpers import clean_environment
from tests.house.deploy.containers import ROOT, compose

VALUES = {
    "GATEPOST_METRICS_TOKEN": "metrics-word",
    "GATEPOST_ALLOWED_HOSTS": "gatepost.example.org",
    "GATEPOST_SLOTS": "7",
}
FILES = {"GATEPOST_SECRETS": "/etc/gatepost/secrets"}


def clients() -> list[list[str]]:
    """`docker compose` and `docker-compose`, whichever is there."""
    results = []
    for client in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(client[0]):
            completed = subprocess.run([*client, "version"], capture_output=True, check=False)
            if completed.returncode == 0:
                results.append(client)
    return results


@pytest.mark.parametrize("values", [{}, VALUES, FILES], ids=["nothing", "values", "files"])
def test_the_clients_understand_the_file(values: dict[str, str], tmp_path: Path) -> None:
    result = clients()
    if not result:
        pytest.skip(
            "no client of compose here; tests/house/deploy/test_containers.py reads the file itself"
        )
    for client in result:
        done = subprocess.run(
            [*client, "--file", str(ROOT / "docker-compose.yml"), "config"],
            env=clean_environment() | values,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "variable is not set" not in done.stderr
        services = yaml.safe_load(done.stdout)["services"]
        assert set(services) == set(compose()["services"])
        # What was given arrives where it is meant to, and nowhere else.
        for name, service in services.items():
            payload = service.get("environment") or {}
            for variable, value in payload.items():
                if variable in values:
                    assert value == values[variable], (name, variable)
        assert services["web"]["environment"]["GATEPOST_ROLE"] == "web"
        assert "postgres_password" not in str(services["web"])
        slots = values.get("GATEPOST_SLOTS", "4")
        command = services["worker"]["command"]
        assert command[command.index("--concurrency") + 1] == slots

"""Gatepost's own settings are no secrets of calls, and its secrets leave the environment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from checkpoints.outbound.own_secrets import OWN_SECRETS, forget, is_own
from dashboard.configuration.import_path import ROOT

READS = re.compile(r'(?:env|value|env\.\w+|os\.environ\.get)\(\s*"([A-Z][A-Z_]+)"')
SOURCES = [
    ROOT / "dashboard/settings.py",
    *sorted((ROOT / "dashboard/configuration").glob("*.py")),
]
READ = sorted(
    {name for path in SOURCES for name in READS.findall(path.read_text())} - {"PYTHONPATH"}
)
VALUES = re.compile(r'(?<![.\w])value\(\s*"([A-Z][A-Z_]+)"')


def test_the_sweep_sees_the_settings() -> None:
    assert len(READ) > 80
    assert {"GATEPOST_SECRET_KEY", "GATEPOST_SECRET_NAMES", "REDIS_URL"} <= set(READ)


@pytest.mark.parametrize("name", sorted({*READ, *OWN_SECRETS, "POSTGRES_PASSWORD", "PGPASSWORD"}))
def test_each_setting_is_own_however_it_is_written(name: str) -> None:
    for written in (name, f"{name}_FILE", f"{name}_FILE_FILE", name.lower(), f" {name}\n"):
        assert is_own(written), written


@pytest.mark.parametrize("name", ["SHOP_KEY", "OPENAI_API_KEY", "GATEPOST_SECRET_GITHUB", "KEY"])
def test_names_that_people_choose_are_not_own(name: str) -> None:
    assert not is_own(name)
    assert not is_own(f"{name}_FILE")


def test_what_the_settings_read_as_a_secret_is_removed() -> None:
    for path in SOURCES:
        assert set(VALUES.findall(path.read_text())) <= set(OWN_SECRETS), path
    names = [*OWN_SECRETS, *(f"{name}_FILE" for name in OWN_SECRETS)]
    environment = {**dict.fromkeys(names, "x"), "SHOP_KEY": "y", "GATEPOST_DATA": "z"}
    forget(environment)
    assert environment == {"SHOP_KEY": "y", "GATEPOST_DATA": "z"}


AGENT = """
import json, os
print("SEEN", json.dumps(dict(os.environ)), flush=True)
os._exit(0)
"""


@pytest.mark.slow
@pytest.mark.parametrize("process", ["worker", "web"])
def test_code_in_a_process_sees_none_of_them(process: str, tmp_path: Path) -> None:
    (tmp_path / "curious.py").write_text(AGENT)
    key = tmp_path / "key"
    key.write_text("kept-" * 12)
    own = {
        "GATEPOST_SECRET_KEY_FILE": str(key),
        "GATEPOST_METRICS_TOKEN": "metrics-token-of-the-installation",
        "DATABASE_URL": "postgresql://gatepost:pass-of-the-database@127.0.0.1:9/none",
        "REDIS_URL": "redis://:pass-of-valkey@127.0.0.1:9/0",
        "GATEPOST_ANCHOR_KEY": "key-of-anchors-0123456789",
    }
    start = {
        "worker": ["-m", "workers", "--pool", "threads", "--concurrency", "1"],
        "web": ["-c", "import dashboard.asgi, curious"],
    }
    done = subprocess.run(
        [sys.executable, *start[process]],
        env=os.environ
        | own
        | {
            "DJANGO_SETTINGS_MODULE": "dashboard.settings",
            "GATEPOST_DATA": str(tmp_path),
            "GATEPOST_AGENTS": "curious",
            "GATEPOST_SHIPPED_AGENTS": "false",
            "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}",
            "SHOP_KEY": "stays",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    (line,) = [one for one in done.stdout.splitlines() if one.startswith("SEEN ")]
    seen = json.loads(line.removeprefix("SEEN "))
    assert seen["SHOP_KEY"] == "stays"
    assert not set(seen) & set(own)
    assert not [name for name, value in seen.items() if value in own.values() and value != ""]

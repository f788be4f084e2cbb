"""A worker that loads the shipped agents has no pandas in memory before a thread needs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
LOAD = """
import json, sys
from importlib.metadata import entry_points
for point in entry_points(group="gatepost.shipped_agents"):
    point.load()
print(json.dumps([len(sys.modules), sorted({"numpy", "pandas", "matplotlib"} & set(sys.modules))]))
"""


@pytest.mark.slow
def test_the_shipped_agents_are_loaded_without_pandas() -> None:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
    loaded = subprocess.run(
        [sys.executable, "-c", f"import django; django.setup(){LOAD}"],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": str(ROOT / "agents")},
        capture_output=True,
        text=True,
        check=True,
    )
    modules, heavy = json.loads(loaded.stdout)
    assert modules > 500
    assert heavy == []

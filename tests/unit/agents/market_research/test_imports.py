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
from workers.code.registry import discover
agents = [entry.value for entry in entry_points(group="gatepost.shipped_agents")]
graphs = [graph.name for graph, _, _ in discover(agents)]
print(json.dumps([graphs, sorted({"pandas", "matplotlib"} & set(sys.modules))]))
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
    graphs, heavy = json.loads(loaded.stdout)
    assert "market-research" in graphs
    assert heavy == []

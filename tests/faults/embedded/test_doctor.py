"""`doctor`, `agent` and `login_link` beside a real `up`: a fresh installation is well."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults.embedded.helpers import ROOT, clean_environment, up

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.hazard,
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes through /proc"),
]

AGENTS = [
    "connect-four",
    "deep-research",
    "dependency-audit",
    "docs-chat",
    "market-research",
    "outreach",
    "outreach-writer",
    "package-audit",
    "payments",
    "weather-watch",
]


def manage(data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in a second terminal, in another folder than the product's."""
    return subprocess.run(
        [sys.executable, ROOT / "manage.py", *words, "--data-dir", str(data)],
        env=clean_environment(),
        cwd=data.parent,
        capture_output=True,
        text=True,
        timeout=180,
    )


def test_a_fresh_installation_is_well_and_then_its_worker_and_valkey_are_lost(data: Path) -> None:
    with up(data) as started:
        done = manage(data, "doctor", "--strict", "--json")
        report: Any = json.loads(done.stdout)
        bad = [f for f in report["findings"] if f["level"] in ("warning", "wrong")]
        assert (done.returncode, bad) == (0, [])
        notes = [f for f in report["findings"] if f["level"] == "note"]
        assert [f["name"] for f in notes] == ["database role", "anchors", "mail"]
        results = {(f["part"], f["name"]): f["value"] for f in report["findings"]}
        assert results["reachable", "pages"] == f"http://127.0.0.1:{started.port} is ready"
        assert "1 worker with 2 slots" in results["reachable", "workers"]
        assert results["reachable", "agents"] == ", ".join(AGENTS)
        assert results["reachable", "bank"].endswith("bank.sock")

        payload = json.loads(manage(data, "doctor", "demo-flights", "--json").stdout)
        assert payload["facts"]["workers_with_both"] == 1
        link = manage(data, "login_link").stdout
        assert link.startswith(f"http://127.0.0.1:{started.port}/welcome/?sesame=")
        assert manage(data, "agent", "check").returncode == 0
        listed = json.loads(manage(data, "agent", "list", "--json").stdout)
        assert [row["live_workers"] for row in listed["results"]] == [1] * len(AGENTS)

        valkeys = [pid for pid, line in started.leftovers() if "valkey-server" in line]
        for pid in valkeys:
            os.kill(pid, signal.SIGSTOP)  # a killed one would be started again at once
        try:
            done = manage(data, "doctor", "--json")
        finally:
            for pid in valkeys:
                os.kill(pid, signal.SIGCONT)
        assert valkeys
        assert done.returncode == 1
        wrong = {f["name"] for f in json.loads(done.stdout)["findings"] if f["level"] == "wrong"}
        assert "Valkey" in wrong

        refused = manage(data, "reset", "--yes")
        assert refused.returncode == 1
        assert "already uses" in refused.stderr
    gone = manage(data, "doctor", "--json")
    assert gone.returncode == 1
    results = {(f["part"], f["name"]): f for f in json.loads(gone.stdout)["findings"]}
    assert results["reachable", "database"]["do"] == "Call `make up`."
    assert results["reachable", "pages"]["level"] == "note", "the address went with its `up`"

"""The chaos of `make chaos`, a small share of it: the same strikes, the same verdict."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from .bench import ROOT

pytestmark = pytest.mark.hazard
MINUTES = 2.0


@pytest.mark.requirement("A07")
def test_everything_is_struck_and_every_thread_ends_right() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.chaos", "--minutes", str(MINUTES)],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith(("GATEPOST_", "DJANGO_"))},
        capture_output=True,
        text=True,
        timeout=540,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr[-8000:]}"
    found = json.loads(done.stdout)
    assert found["ok"] is True
    assert found["value"] == 100.0
    assert found["row"] is None  # too small to stand for the figure
    assert found["threads"] == found["ended_right"] >= 160
    # Of ten steps, two effects and a gate each; the reports and what was rejected come on top.
    assert found["full_threads"] >= 160
    assert all(n >= 1 for n in found["of"].values())
    assert len(found["of"]) == 4
    assert found["mails"] >= found["full_threads"]
    assert found["published"] >= 10
    struck = found["struck"]
    assert struck["kills"] >= 32
    assert min(n for name, n in struck.items()) >= 1
    assert found["takeovers"] >= 10
    assert found["acknowledged"] >= 2 * found["threads"]

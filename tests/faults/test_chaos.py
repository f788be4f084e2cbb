"""The chaos of `make chaos`, a small share of it: the same strikes, the same verdict."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from .bench import ROOT

pytestmark = [pytest.mark.nightly, pytest.mark.hazard]
MINUTES = 2.0


@pytest.mark.requirement("A07")
@pytest.mark.requirement("A31")
def test_everything_is_struck_and_every_thread_ends_right() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.chaos", "--minutes", str(MINUTES)],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith(("GATEPOST_", "DJANGO_"))},
        capture_output=True,
        text=True,
        timeout=540,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr[-8000:]}"
    payload = json.loads(done.stdout)
    assert payload["ok"] is True
    assert payload["value"] == 100.0
    assert payload["row"] is None  # too small to stand for the figure
    assert payload["threads"] == payload["ended_right"] >= 160
    # Of ten steps, two effects and a gate each; the reports and what was rejected come on top.
    assert payload["full_threads"] >= 160
    assert all(n >= 1 for n in payload["of"].values())
    assert len(payload["of"]) == 4
    # Trees: a lead with eight counters, two of which hand over; a researcher and its writer.
    grown = payload["of_trees"]
    assert grown["chaos-lead"] >= 6
    assert grown["chaos-counter"] == 8 * grown["chaos-lead"] == 4 * grown["chaos-heir"]
    assert grown["chaos-researcher"] == grown["chaos-writer"] >= 6
    # Hot threads of 600 steps; what waited in the hot store whenever something was struck is there.
    assert payload["of_hot"]["hot threads"] >= 15
    assert payload["of_hot"]["hot steps seen waiting"] >= 100
    assert payload["mails"] >= payload["full_threads"]
    assert payload["published"] >= 10
    struck = payload["struck"]
    assert struck["kills"] >= 32
    assert min(n for name, n in struck.items()) >= 1
    assert payload["takeovers"] >= 10
    assert payload["acknowledged"] >= 2 * payload["threads"]

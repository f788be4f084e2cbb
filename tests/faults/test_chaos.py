"""The chaos of `make chaos`, a small share of it: the same strikes, the same verdict."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from .bench import ROOT
from .chaos.machines import OFF, refused
from .chaos.verdict import OF_HOSTS

pytestmark = [pytest.mark.nightly, pytest.mark.hazard]
MINUTES = 2.0
HOSTS, THREADS = 4, 60


SLOW = "silent over 20 s"


def chaos(*arguments: str) -> Any:
    """The line of JSON of a call that worked, and whose verdict it says."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.chaos", *arguments],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith(("GATEPOST_", "DJANGO_"))},
        capture_output=True,
        text=True,
        timeout=540,
    )
    assert done.returncode in (0, 1), f"{done.stdout}{done.stderr[-8000:]}"
    payload = json.loads(done.stdout)
    assert payload["ok"] is (done.returncode == 0)
    return payload


@pytest.mark.requirement("A07")
@pytest.mark.requirement("A31")
def test_everything_is_struck_and_every_thread_ends_right() -> None:
    payload = chaos("--minutes", str(MINUTES))
    assert payload["ok"] is True, payload
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


def test_so_it_is_on_hosts_that_share_no_folder() -> None:
    if why := refused():
        pytest.skip(f"NOT PROVED: {why}")
    payload = chaos("--hosts", str(HOSTS), "--threads", str(THREADS))
    # Six hosts and an object store on the cores of one machine: how long a thread waits for a slot
    # is a matter of what else they do.
    assert (set(payload["wrong"]) - {SLOW}, payload["short_of"]) == (set(), []), payload
    assert payload["trouble"] == ""
    assert payload["value"] == 100.0
    assert payload["row"] is None  # too small to stand for the row
    assert payload["threads"] == payload["ended_right"] >= THREADS
    assert set(OF_HOSTS.values()) <= set(payload["struck"])
    assert min(n for name, n in payload["struck"].items()) >= 1
    assert payload["takeovers"] >= 5
    # One of them lives minutes ahead; the verdict has looked at what its agents said.
    assert payload["clocks"] == {
        f"worker-{n}": OFF if n == HOSTS else 0 for n in range(1, HOSTS + 1)
    }

"""The processor time of a tree of processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.rows.cpu_time import CpuTime, cpu_seconds

# A child of the process that is looked at does the work; both say when and wait.
BUSY = """
import os, subprocess, sys, time
if sys.argv[1:]:
    while time.process_time() < 0.3:
        pass
    print("worked", flush=True)
    sys.stdin.read()
else:
    child = subprocess.Popen([sys.executable, "-c", os.environ["BUSY"], "child"])
    child.wait()
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="read from /proc")
def test_what_children_use_is_counted() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BUSY],
        env={"BUSY": BUSY},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "worked\n"
        assert 0.25 < cpu_seconds(parent.pid) < 3
        parent.communicate()


def test_a_step_has_its_share_and_the_sum() -> None:
    before = CpuTime({"worker": 1.0, "valkey": 2.0})
    after = CpuTime({"worker": 3.0, "valkey": 2.5})
    assert after.since(before).per(1_000) == {"worker": 2.0, "valkey": 0.5, "all": 2.5}
    assert CpuTime({}).since(CpuTime({})).per(10) == {}

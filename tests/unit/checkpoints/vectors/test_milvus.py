"""Milvus, in the local mode of its client, passes the suite of stores in its own environment."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tools import environments
from tools.size import ROOT

SUITE = Path(__file__).with_name("test_stores.py")
LOCK = Path(__file__).parent / "milvus" / "requirements.lock"


@pytest.mark.slow
@pytest.mark.requirement("A11")
def test_milvus_passes_the_suite_of_stores() -> None:
    interpreter = environments.python("milvus", LOCK)
    command = [str(interpreter), "-m", "pytest", "-q", "--noconftest", "-c", "/dev/null"]
    command += ["--rootdir", str(ROOT), "-p", "no:cacheprovider", str(SUITE.relative_to(ROOT))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4_000:]
    passed = re.search(r"^(\d+) passed(?!.*skipped)", done.stdout, re.MULTILINE)
    cases = len(re.findall(r"^def test_\w+\(store", SUITE.read_text(), re.MULTILINE))
    assert passed is not None, done.stdout[-400:]
    assert int(passed[1]) >= cases > 8

"""The published suite for checkpoint savers passes whole, in an environment of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.clients.bench import Script

pytestmark = pytest.mark.nightly

CASES = 81


def test_every_case_of_the_published_suite_passes(
    langgraph: Callable[..., Script], tmp_path: Path
) -> None:
    printed = langgraph("conformance.py").end(seconds=400)
    reports = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    assert [r["checkpointer_name"] for r in reports] == ["GatepostSaver", "AsyncGatepostSaver"]
    for report in reports:
        results = report["results"].values()
        assert report["conformance_level"] == "FULL", printed
        assert [f for r in results for f in r["failures"]] == []
        assert sum(r["tests_passed"] for r in results) == CASES
        assert sum(r["tests_skipped"] for r in results) == 0

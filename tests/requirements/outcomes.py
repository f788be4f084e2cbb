"""A pytest plugin that writes down how each test of a run ended: `--outcomes FOLDER`.

`python -m tests.requirements --outcomes FOLDER` then judges the rows by what `make check` ran,
and runs no test a second time.
"""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest

from .plugin import outcome


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--outcomes", type=Path, help="folder for a file of {node id: outcome}")


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption("--outcomes")
    if folder and not hasattr(config, "workerinput"):  # reports of all processes come to the first
        config.pluginmanager.register(Writer(folder))


class Writer:
    """Collects the outcomes of one run and writes them at its end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if result := outcome(report, self.outcomes.get(report.nodeid)):
            self.outcomes[report.nodeid] = result

    def pytest_sessionfinish(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{uuid4()}.json").write_text(json.dumps(self.outcomes))


def read(folder: Path) -> dict[str, str]:
    """Of all runs that wrote there, each test once; a run in which it did not pass counts."""
    results: dict[str, str] = {}
    for path in folder.glob("*.json"):
        for test, result in json.loads(path.read_text()).items():
            if results.get(test, "passed") == "passed":
                results[test] = result
    return results

"""A pytest plugin that writes down how each test of a run ended: `--outcomes FOLDER`.

`python -m tests.house.requirements --outcomes FOLDER` then judges the rows by what `make check`
ran, and runs no test a second time. Each file names the tree that its run tested.
"""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest

from .plugin import outcome
from .tree import NoTree, working_tree


class OtherTree(Exception):
    """Outcomes that do not belong to the tree as it stands."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--outcomes", type=Path, help="folder for a file of {tree, outcomes}")


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption("--outcomes")
    if folder and not hasattr(config, "workerinput"):  # reports of all processes come to the first
        try:
            config.pluginmanager.register(Writer(folder))
        except NoTree as error:
            raise pytest.UsageError(f"--outcomes: {error}") from error


class Writer:
    """Collects the outcomes of one run and writes them at its end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tree = working_tree()
        self.outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if result := outcome(report, self.outcomes.get(report.nodeid)):
            self.outcomes[report.nodeid] = result

    def pytest_sessionfinish(self) -> None:
        # Files may be edited while tests run: then nobody knows which tree was tested.
        tree = self.tree if working_tree() == self.tree else None
        self.folder.mkdir(parents=True, exist_ok=True)
        content = {"tree": tree, "outcomes": self.outcomes}
        (self.folder / f"{uuid4()}.json").write_text(json.dumps(content))


def read(folder: Path, tree: str) -> dict[str, str]:
    """Of all runs that wrote there, each test once; a run in which it did not pass counts.

    Raises OtherTree for a folder that is empty or in which a run is not of this tree.
    """
    results: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text())
        tested = content.get("tree") if "outcomes" in content else "no tree at all"
        if tested != tree:
            what = f"tree {tested}" if tested else "a tree that changed while the tests ran"
            raise OtherTree(
                f"{path} holds outcomes of {what}; this is tree {tree}. "
                "Run the tests again with OUTCOMES=an empty folder, and change no file meanwhile."
            )
        for test, result in content["outcomes"].items():
            if results.get(test, "passed") == "passed":
                results[test] = result
    if not results:
        raise OtherTree(f"{folder} holds no outcomes; run `make test-all OUTCOMES={folder}` first")
    return results

"""A pytest plugin that records, per row that marks name, how each test that carries it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

import pytest


def carried(item: pytest.Item, marker: str) -> set[str]:
    """The rows that a test says it proves."""
    return {str(ident) for mark in item.iter_markers(marker) for ident in mark.args}


def outcome(report: pytest.TestReport, former: str | None) -> str | None:
    """How a test stands after a report: passed, failed, skipped, xfailed or xpassed.

    The first thing that went wrong stays; None until the test itself has ended.
    """
    if former not in (None, "passed"):
        return former
    if hasattr(report, "wasxfail"):
        return "xpassed" if report.passed else "xfailed"
    if not report.passed:
        return report.outcome
    return "passed" if report.when == "call" else former


class Recorder:
    """Keeps the tests of `wanted` rows, deselects all others, and records outcomes.

    `tests`: {row: [node id]}; `outcomes`: {node id: passed, failed, skipped, xfailed, xpassed};
    a test that never ended stands in `tests` only. `problems`: what could not even be collected.
    """

    def __init__(
        self, wanted: Iterable[str], *, known: Collection[str], marker: str = "requirement"
    ) -> None:
        self.marker = marker
        self.wanted = set(wanted)
        self.known = set(known)
        self.tests: dict[str, list[str]] = {ident: [] for ident in self.wanted}
        self.outcomes: dict[str, str] = {}
        self.problems: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.problems.append(f"{report.nodeid} could not be collected")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        saved: list[pytest.Item] = []
        left: list[pytest.Item] = []
        for item in items:
            rows = carried(item, self.marker)
            self.problems += [
                f"{item.nodeid} carries the unknown row {ident}"
                for ident in sorted(rows - self.known)
            ]
            for ident in rows & self.wanted:
                self.tests[ident].append(item.nodeid)
            (saved if rows & self.wanted else left).append(item)
        config.hook.pytest_deselected(items=left)
        items[:] = saved

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if result := outcome(report, self.outcomes.get(report.nodeid)):
            self.outcomes[report.nodeid] = result

    def refutation(self, row: str) -> str:
        """Why the tests of a row do not prove it; empty where there are some and all passed."""
        tests = self.tests[row]
        ends = {test: self.outcomes.get(test, "not ended") for test in tests}
        wrong = Counter(end for end in ends.values() if end != "passed")
        if wrong:
            first = next(test for test, end in ends.items() if end != "passed")
            counted = ", ".join(f"{count} {end}" for end, count in wrong.items())
            return f"{counted} of {len(tests)}, first {first}"
        return "" if tests else "no test carries it"

    def evidence(self, row: str) -> str:
        """How many tests of a row passed, and where."""
        tests = self.tests[row]
        files = sorted({test.partition("::")[0] for test in tests})
        return f"{len(tests)} passed in {', '.join(files)}"

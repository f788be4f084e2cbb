"""A pytest plugin that remembers, per requirement, how each test that carries it ended."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pytest


def carried(item: pytest.Item) -> set[str]:
    """The rows that a test says it proves."""
    return {str(ident) for mark in item.iter_markers("requirement") for ident in mark.args}


class Recorder:
    """Keeps the tests of `wanted` rows, deselects all others, and records outcomes.

    `tests`: {row: [node id]}; `outcomes`: {node id: passed, failed, skipped, xfailed, xpassed};
    a test that never ended stands in `tests` only. `problems`: what could not even be collected.
    """

    def __init__(self, wanted: Iterable[str], *, known: Collection[str]) -> None:
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
        kept: list[pytest.Item] = []
        left: list[pytest.Item] = []
        for item in items:
            rows = carried(item)
            self.problems += [
                f"{item.nodeid} carries the unknown row {ident}"
                for ident in sorted(rows - self.known)
            ]
            for ident in rows & self.wanted:
                self.tests[ident].append(item.nodeid)
            (kept if rows & self.wanted else left).append(item)
        config.hook.pytest_deselected(items=left)
        items[:] = kept

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        former = self.outcomes.get(report.nodeid)
        if former not in (None, "passed"):
            return  # the first thing that went wrong stays
        if hasattr(report, "wasxfail"):
            self.outcomes[report.nodeid] = "xpassed" if report.passed else "xfailed"
        elif not report.passed:
            self.outcomes[report.nodeid] = report.outcome
        elif report.when == "call":
            self.outcomes[report.nodeid] = "passed"

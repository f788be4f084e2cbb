"""`python -m tests.house.lanes.alone ARGUMENTS`: pytest, and three times more what failed, alone.

Tests that start the product and wait for it share two processors with each other. One that fails
there and passes three times alone was short of time: it is listed as unsteady and the run is green.
One that fails again is red.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

TIMES = 3
AT_MOST = 5  # more did not fail by chance


class Failed:
    """Collects the node ids of tests that failed, in the order in which they ended."""

    def __init__(self) -> None:
        self.tests: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self.tests:
            self.tests.append(report.nodeid)


def main(arguments: list[str]) -> int:
    """The exit code of pytest; 0 if all that failed passed `TIMES` times afterwards."""
    failed = Failed()
    # Plugins write addresses of their servers into it; each repetition needs servers of its own.
    environment = dict(os.environ)
    code = int(pytest.main(arguments, plugins=[failed]))
    if code != pytest.ExitCode.TESTS_FAILED or not 0 < len(failed.tests) <= AT_MOST:
        return code
    print(f"\nAgain, {TIMES} times alone: {', '.join(failed.tests)}", flush=True)
    for _ in range(TIMES):
        command = [sys.executable, "-m", "pytest", *failed.tests]
        if again := subprocess.run(command, env=environment).returncode:
            return again
    print(f"UNSTEADY: failed beside others, passed {TIMES} times alone: {', '.join(failed.tests)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

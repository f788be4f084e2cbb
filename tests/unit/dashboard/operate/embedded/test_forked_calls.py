"""Functions called in a forked process: their results, refusals and faults, and its end."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from dashboard.operate.embedded.process.folders import EmbeddedError
from dashboard.operate.embedded.process.forked_calls import ForkedCalls


def refuse() -> None:
    raise EmbeddedError("no room")


def interrupt() -> int:
    os.kill(os.getpid(), signal.SIGINT)
    return os.getpid()


FUNCTIONS = {
    "add": lambda one, other: [one + other, "ä\n"],
    "import": lambda: __import__("this") is None,
    "refuse": refuse,
    "fail": lambda: {}["missing"],
    "interrupt": interrupt,
    "end": lambda: os._exit(3),
}


def test_results_travel_and_imports_stay_there() -> None:
    with ForkedCalls(FUNCTIONS) as forked:
        assert forked.call("add", 1, 2) == [3, "ä\n"]
        forked.call("import")
    assert "this" not in sys.modules


def test_a_refusal_is_raised_here_and_a_fault_names_itself() -> None:
    with ForkedCalls(FUNCTIONS) as forked:
        with pytest.raises(EmbeddedError, match="no room"):
            forked.call("refuse")
        with pytest.raises(EmbeddedError, match="fail: KeyError"):
            forked.call("fail")
        assert forked.call("add", 2, 2)[0] == 4


def test_ctrl_c_is_for_the_starter_and_closing_ends_it() -> None:
    with ForkedCalls(FUNCTIONS) as forked:
        pid = forked.call("interrupt")
        assert forked.call("add", 1, 1)[0] == 2
        forked.close()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_one_that_ended_is_a_sentence() -> None:
    with ForkedCalls(FUNCTIONS) as forked:
        for name in ("end", "add"):
            with pytest.raises(EmbeddedError, match=f"{name}: its process ended"):
                forked.call(name)

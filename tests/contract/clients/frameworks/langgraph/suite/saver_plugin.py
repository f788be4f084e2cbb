"""pytest plugin: langgraph's own tests with another saver in place of its own.

GATEPOST_SUITE_SAVER is "gatepost" or "postgres"; the latter takes GATEPOST_SUITE_DATABASE. Only
tests that take a checkpointer run, each with one saver.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

# A module of theirs, not of this repository.
theirs: Any = import_module("tests.conftest_checkpointer")
OURS = os.environ["GATEPOST_SUITE_SAVER"] == "gatepost"
# The classes of the test that runs, as an author names them.
TYPES: list[type] = []
# The parameters of their fixtures whose savers are replaced.
CHOSEN = {"sync_checkpointer": "sqlite", "async_checkpointer": "sqlite_aio"}


@contextmanager
def _sync() -> Iterator[Any]:
    from gatepost_client.langgraph import GatepostSaver

    # Each test has threads of its own, whatever it names them; some replace uuid4.
    with GatepostSaver(f"suite-{os.urandom(8).hex()}", types=TYPES) as saver:
        yield saver


@asynccontextmanager
async def _awaited() -> AsyncIterator[Any]:
    from gatepost_client.langgraph import AsyncGatepostSaver

    async with AsyncGatepostSaver(f"suite-{os.urandom(8).hex()}", types=TYPES) as saver:
        yield saver


if OURS:
    theirs._checkpointer_sqlite = _sync
    theirs._checkpointer_sqlite_aio = _awaited
else:
    theirs.DEFAULT_POSTGRES_URI = os.environ["GATEPOST_SUITE_DATABASE"]
    theirs._checkpointer_sqlite = theirs._checkpointer_postgres
    theirs._checkpointer_sqlite_aio = theirs._checkpointer_postgres_aio


def pytest_collection_modifyitems(config: pytest.Config, items: list[Any]) -> None:
    """Keep the tests of a saver, each once."""
    chosen_items: list[Any] = []
    left: list[Any] = []
    for item in items:
        params = getattr(getattr(item, "callspec", None), "params", {})
        chosen = any(params.get(fixture) == name for fixture, name in CHOSEN.items())
        (chosen_items if chosen else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = chosen_items


def pytest_runtest_setup(item: Any) -> None:
    """Name the classes that the module has or imports, as an author has to."""
    TYPES[:] = [one for one in vars(item.module).values() if isinstance(one, type)]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Append what came of a test, and the last line of why not."""
    if report.when == "call" or report.outcome != "passed":
        why = "" if report.outcome == "passed" else str(report.longrepr).strip().splitlines()[-1]
        with Path(os.environ["GATEPOST_SUITE_RESULTS"]).open("a") as results:
            line = {"test": report.nodeid, "outcome": report.outcome, "why": why}
            results.write(f"{json.dumps(line)}\n")

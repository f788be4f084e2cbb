"""The published suite for checkpoint savers, on ours; prints the report as JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from typing import Any

from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.report import ProgressCallbacks

from gatepost_client.langgraph import AsyncGatepostSaver, GatepostSaver


@checkpointer_test(name="GatepostSaver")
async def threads() -> AsyncGenerator[Any, None]:
    """The saver whose calls block."""
    with GatepostSaver("conformance") as saver:
        yield saver


@checkpointer_test(name="AsyncGatepostSaver")
async def loops() -> AsyncGenerator[Any, None]:
    """The saver whose calls are awaited."""
    async with AsyncGatepostSaver("conformance-async") as saver:
        yield saver


def complain(capability: str, name: str, passed: bool, error: str | None) -> None:
    """Print what failed."""
    if error:
        print(capability, name, error, file=sys.stderr)


for case in (threads, loops):
    report = asyncio.run(validate(case, progress=ProgressCallbacks(on_test_result=complain)))
    print(json.dumps(report.to_dict()))

"""Scripts that call LangGraph, in an environment of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.clients.bench import Script
from tools import environments

HERE = Path(__file__).parent


@pytest.fixture
def langgraph(script: Callable[..., Script]) -> Callable[..., Script]:
    """Starts one of the scripts beside this file."""
    interpreter = environments.python("langgraph", HERE / "requirements.lock")

    def start(name: str, *args: str, folder: str = "machine", **environment: str) -> Script:
        path = str(HERE / "scripts" / name)
        return script(str(interpreter), path, *args, folder=folder, **environment)

    return start

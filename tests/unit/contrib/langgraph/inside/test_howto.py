"""docs/howto/langgraph-on-workers.md: its agent and its test, as they stand there."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HOWTO = Path(__file__).parents[5] / "docs/howto/langgraph-on-workers.md"
BLOCK = re.compile(r'^```python title="(\w+)\.py"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def test_the_agent_of_the_page_does_what_its_test_says(monkeypatch: pytest.MonkeyPatch) -> None:
    modules: dict[str, Any] = {}
    for name, text in BLOCK.findall(HOWTO.read_text()):
        modules[name] = module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(text, f"{name}.py", "exec"), vars(module))
    assert sorted(modules) == ["support_graph", "test_support_graph"]
    modules["test_support_graph"].test_a_refund_waits_for_a_person()

"""docs/howto/tool-loop.md: its agent and its test, as they stand there."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HOWTO = Path(__file__).parents[4] / "docs/howto/tool-loop.md"
BLOCK = re.compile(r'^```python title="(\w+)\.py"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def test_the_agent_of_the_page_does_what_its_test_says(monkeypatch: pytest.MonkeyPatch) -> None:
    modules: dict[str, Any] = {}
    for name, text in BLOCK.findall(HOWTO.read_text()):
        modules[name] = module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(text, f"{name}.py", "exec"), vars(module))
    assert sorted(modules) == ["support", "test_support"]
    modules["test_support"].test_a_refund_waits_for_a_person()

"""docs/howto/langgraph-on-workers.md: its agents and their tests, as they stand there."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HOWTO = Path(__file__).parents[5] / "docs/howto/langgraph-on-workers.md"
BLOCK = re.compile(r'^```python title="(\w+)\.py"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def test_the_agents_of_the_page_do_what_their_tests_say(monkeypatch: pytest.MonkeyPatch) -> None:
    modules: dict[str, Any] = {}
    for name, text in BLOCK.findall(HOWTO.read_text()):
        modules[name] = module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(text, f"{name}.py", "exec"), vars(module))
    assert sorted(modules) == [
        *("support_graph", "test_support_graph", "test_tone_graph", "tone_graph"),
    ]
    modules["test_support_graph"].test_a_refund_waits_for_a_person()
    modules["test_tone_graph"].test_a_later_thread_knows_what_an_earlier_one_has_learnt()

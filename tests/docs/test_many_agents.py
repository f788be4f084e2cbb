"""The code of docs/howto/many-agents.md runs as it stands there."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "many-agents.md"


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S))
    module: Any = ModuleType("many_agents_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    path = tmp_path / "many_agents_page.py"
    path.write_text(code)
    module.__file__ = str(path)
    exec(compile(code, str(path), "exec"), module.__dict__)
    assert module.heir.status == "succeeded"

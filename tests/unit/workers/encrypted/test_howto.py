"""docs/howto/encrypted-channels.md: the agent that it shows works as it says."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from gatepost import Harness

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs/howto/encrypted-channels.md").read_text()


def test_the_agent_of_the_page_reads_what_is_encrypted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = re.findall(r'^```python title="cases\.py"\n(.*?)^```$', PAGE, re.M | re.S)
    (tmp_path / "shown_cases.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    cases = importlib.import_module("shown_cases").cases
    assert cases.encrypted["diagnosis"].readers == ("auditor", "admin")
    thread = Harness(cases).play({"patient": "Ada", "diagnosis": "iron deficiency"})
    assert thread.status == "succeeded"
    thoughts = [event.data["text"] for event in thread.events if event.kind == "thought.recorded"]
    assert thoughts == ["The diagnosis of Ada has 2 words"]

"""The servers of these tests speak the two wires as an outside referee, llm-comply, knows them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .model_server import Say, serving_models

# The fourth question is the one about a tool.
HELLO, CALL = Say("Hello there."), Say(calls=(("call_1", "get_weather", '{"location": "Paris"}'),))
OPTIONS = {
    "openai-chat": ["--format", "openai-chat"],
    "anthropic": ["--format", "anthropic", "--auth-header", "x-api-key", "--no-bearer"],
}


@pytest.mark.slow
@pytest.mark.requirement("A39")
@pytest.mark.parametrize("wire", OPTIONS)
def test_a_referee_from_outside_finds_nothing(wire: str) -> None:
    program = Path(sys.executable).with_name("llm-comply")
    with serving_models(HELLO, HELLO, HELLO, CALL, HELLO) as server:
        judged = subprocess.run(
            [program, "-u", server.url, "-k", "k", "-m", "gpt-4o", "--json", *OPTIONS[wire]],
            capture_output=True,
            text=True,
        )
    report = json.loads(judged.stdout)["summary"]
    # Reasoning is of models that reason, which the referee does not ask this one for.
    assert report == {"total": 9, "passed": 8, "failed": 0, "skipped": 1}, judged.stdout
    assert len(server.got) == 8

"""What a failing step prints in an author's terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly

AGENT = """
import pytest
from workers.authoring.graph import END, Graph, State
from workers.testing.harness import Harness


class Order(State):
    goal: str = "tea"


graph = Graph("orders", Order)


def price(goal):
    secret = "a value of a local variable"
    raise LookupError(f"no {goal}")


@graph.node(then=END)
def buy(state, ctx):
    ctx.activity(price, state.goal)


print(Harness(graph).play().reason)
"""


def test_a_failed_step_prints_the_lines_of_the_author(tmp_path: Path) -> None:
    (tmp_path / "orders.py").write_text(AGENT)
    root = Path(__file__).parents[4]
    done = subprocess.run(
        [sys.executable, "orders.py"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    printed = done.stdout + done.stderr
    assert "a value of a local variable" not in printed.replace('secret = "a value', "")
    assert 'raise LookupError(f"no {goal}")' in printed
    assert "LookupError: no tea" in printed
    assert len(printed.splitlines()) < 40, printed

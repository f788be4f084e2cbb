"""A set in the state has one order, whatever the hash seed of the process that made it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
SCRIPT = """
from pydantic import BaseModel
from gatepost import END, Graph, Harness, State

class Basket(BaseModel):
    items: frozenset[str] = frozenset()
    named: dict[str, set[int]] = {}

class Work(State):
    tags: set[str] = set()
    baskets: list[Basket] = []

graph = Graph("sets", Work)

@graph.node(then=END)
def work(state, ctx):
    words = {f"word {n}" for n in range(40)}
    return {"tags": words, "baskets": [Basket(items=frozenset(words), named={"b": {3, 1}})]}

thread = Harness(graph).play()
assert thread.status == "succeeded", thread.reason
assert thread.state["tags"] == sorted(thread.state["tags"])
print(thread.checkpoints[-1].state_hash, thread.state)
"""


def outcome(seed: str) -> str:
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_two_processes_write_the_same_state() -> None:
    assert outcome("1") == outcome("2")

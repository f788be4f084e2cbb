"""What an author has: the installed packages, their types, and no Django settings."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.requirement("F05")

LOOP = """
import asyncio
from typing import Any
from gatepost import END, Context, Graph, Harness, Reply, State, tool

class Page(State):
    text: str = ""

@tool("put", undo=None, idempotent=True)
def put(text: str, *, key: str) -> str:
    return text

def fetch(name: str) -> str:
    return "page of " + name

graph = Graph("looping", Page)

@graph.node(then=END)
def work(state: Page, ctx: Context) -> dict[str, Any]:
    async def inner() -> str:
        ctx.now(), ctx.uuid(), ctx.random()
        text = ctx.activity(fetch, "tea") + ctx.model("Say it")
        return ctx.effect(put, {"text": text}).result
    return {"text": asyncio.run(inner())}

async def main() -> None:
    print(Harness(graph).play(model=["!"]))

thread = Harness(graph).play(model=["!"])
assert thread.status == "succeeded", thread.reason
assert thread.state["text"] == "page of tea!", thread.state
asyncio.run(main())
"""

TYPES = """
from typing import Any, assert_type
from gatepost import END, Context, Graph, State

class Page(State):
    text: str = ""

async def fetch(name: str) -> list[int]:
    return [1]

def count(name: str) -> int:
    return 1

graph = Graph("typed", Page)

@graph.node(then=END)
def work(state: Page, ctx: Context) -> dict[str, Any]:
    assert_type(ctx.activity(count, "tea"), int)
    assert_type(ctx.activity(count, "tea", key="a"), int)
    assert_type(ctx.activity(fetch, "tea"), list[int])
    return {}

def plain(state: Page, ctx: Context) -> dict[str, Any]:
    return work(state, ctx)

work("no state", None)  # type: ignore[arg-type]
"""


def run(script: str, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    file = folder / "author.py"
    file.write_text(script)
    env = {n: v for n, v in os.environ.items() if not n.startswith(("DJANGO", "GATEPOST"))}
    env["PYTHONPATH"] = str(ROOT)
    return subprocess.run(
        [sys.executable, *command, str(file)],
        env=env,
        cwd=folder if not command else ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.slow
def test_a_node_may_run_an_event_loop_where_there_are_no_settings(tmp_path: Path) -> None:
    result = run(LOOP, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.slow
def test_the_types_of_an_activity_and_a_node_reach_the_author(tmp_path: Path) -> None:
    result = run(TYPES, tmp_path, "-m", "mypy", "--strict", "--follow-imports=silent")
    assert result.returncode == 0, result.stdout + result.stderr


def test_each_package_of_the_wheel_is_typed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["include"]
    packages = [ROOT / name.strip("/") for name in included if not name.endswith(".py")]
    assert packages
    assert [p.name for p in packages if not (p / "py.typed").exists()] == []


def test_no_page_names_an_extra_of_a_package_that_is_not_on_the_registry() -> None:
    places = [
        ROOT / "README.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "dashboard").rglob("*.py"),
    ]
    assert [str(p) for p in places if "'gatepost[" in p.read_text()] == []

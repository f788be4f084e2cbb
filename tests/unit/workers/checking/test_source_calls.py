"""External calls of nodes, read from recorded source: nothing is imported, nothing works."""

from __future__ import annotations

import pytest

from workers.checking.source_calls import NodeCalls, calls_by_node
from workers.code.source_parts import parts_of_source

AGENT = '''
import httpx
import subprocess as sp
from pathlib import Path
from urllib.request import urlopen

from gatepost import Context, Graph

graph = Graph("market", dict)


@graph.node(then="analyse")
def collect(state, ctx: Context):
    """Reads, outside of an activity too."""
    prices = httpx.get("https://example.org/prices").json()
    sp.run(["ls"])
    Path("out.txt").write_text("x")
    with open("notes.txt", "w") as file:
        file.write("x")
    with open("notes.txt") as file:
        file.read()
    return {"prices": prices}


@graph.node("analyse", then="publish")
def weigh(state, own: Context):
    def fetch():
        return urlopen("https://example.org").read()

    page = own.activity(fetch)
    answer = own.model("Weigh it.")
    return helper(state, own)


def helper(state, ctx):
    ctx.activity(load_table, "sales")
    ctx.think("Done.")
    return {}


@graph.node(then="end")
def publish(state, ctx):
    ctx.effect(mail, {"to": "all"})


@graph.node(name="end", then=())
def finish(state):
    return {}
'''


def code(source: str) -> dict[str, object]:
    return {"parts": [p.to_json() for p in parts_of_source("market.py", source.encode())]}


def test_calls_are_found_by_node() -> None:
    assert calls_by_node(code(AGENT)) == {
        "collect": NodeCalls(
            (),
            (
                "httpx.get speaks to the network",
                "sp.run starts a process",
                "Path('out.txt').write_text writes a file",
                "open writes a file",
            ),
        ),
        "analyse": NodeCalls((("activity", "fetch"), ("model", ""), ("activity", "load_table"))),
        "publish": NodeCalls((("effect", "mail"),)),
        "end": NodeCalls(),
    }


@pytest.mark.parametrize(
    "recorded",
    [None, {}, {"parts": []}, {"parts": [{"file": "a.py", "name": "f()", "digest": "x"}]}],
)
def test_without_source_nothing_is_known(recorded: dict[str, object] | None) -> None:
    assert calls_by_node(recorded) == {}


def test_what_does_not_parse_is_left_out() -> None:
    broken = {"parts": [{"file": "a.py", "name": "f()", "digest": "x", "text": "def f(:"}]}
    assert calls_by_node(broken) == {}

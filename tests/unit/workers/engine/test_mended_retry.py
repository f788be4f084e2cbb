"""The loop of development: a thread fails, its code is mended, Retry goes on with the new code."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from checkpoints.states import EventKind, Status
from gatepost import END, Context, Graph, State
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import samples


class Note(State):
    text: str = ""


def graph_that(works: bool) -> Graph:
    graph = Graph("mended", Note)

    @graph.node(then="last")
    def first(state: Note, ctx: Context) -> dict[str, Any]:
        if not works:
            raise ValueError("not yet")
        return {"text": "mended"}

    @graph.node(then=END)
    def last(state: Note, ctx: Context) -> dict[str, Any]:
        ctx.ask("Good?")
        return {}

    return graph


def module_of(graph: Graph) -> Any:
    module = ModuleType(__name__)
    module.__file__ = __file__
    vars(module).update(graph=graph, TOOLS={})
    return module


def test_retry_goes_on_with_the_code_that_was_mended(
    make_bench: Callable[[Any], Bench],
) -> None:
    bench = make_bench(module_of(graph_that(False)))
    thread = bench.start()
    assert bench.advance(thread).status is Status.FAILED
    bench.install(graph_that(True), {}, samples)
    bench.retry(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert bench.state(thread)["text"] == "mended"
    assert bench.kinds(thread).count(EventKind.CODE_CHANGED) == 1


@pytest.mark.slow
def test_code_that_comes_while_it_waits_is_asked_about(
    make_bench: Callable[[Any], Bench],
) -> None:
    """A retry accepts what is there now; what is installed later needs a word of its own."""
    bench = make_bench(module_of(graph_that(False)))
    thread = bench.start()
    bench.advance(thread)
    bench.install(graph_that(True), {}, samples)
    bench.retry(thread)
    bench.advance(thread)
    bench.decide(thread, "respond", args="yes")
    bench.install(graph_that(True), {}, pytest)
    row = bench.advance(thread)
    assert row.status is Status.ATTENTION
    assert "code of 'mended' changed" in row.status_reason


def test_a_retry_with_the_same_code_leaves_no_word_for_later_code(
    make_bench: Callable[[Any], Bench],
) -> None:
    works: list[bool] = []
    graph = Graph("mended", Note)

    @graph.node(then=END)
    def first(state: Note, ctx: Context) -> dict[str, Any]:
        if not works:
            raise ValueError("away")
        ctx.ask("Good?")
        return {}

    bench = make_bench(module_of(graph))
    thread = bench.start()
    bench.advance(thread)
    works.append(True)
    bench.retry(thread)
    assert bench.advance(thread).status is Status.WAITING
    bench.decide(thread, "respond", args="yes")
    bench.install(graph, {}, samples)
    assert bench.advance(thread).status is Status.ATTENTION

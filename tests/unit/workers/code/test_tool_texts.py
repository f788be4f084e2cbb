"""The docstring of a tool is a prompt: with another one the code of its agent is other code."""

from __future__ import annotations

from types import ModuleType

from gatepost import END, Graph, State, Tool, react, tool
from workers.code.registry import fingerprint_of

MODULE = ModuleType("texts")
MODULE.__file__ = None


class Nothing(State):
    pass


def look_up(name: str) -> str:
    """Look a name up."""
    return name


def by_decorator(text: str) -> str:
    def pay(to: str, *, key: str) -> str:
        return to

    pay.__doc__ = text
    made: Tool = tool("pay")(pay)
    graph = Graph("texts", Nothing, tools=[made])
    graph.node("work", then=END)(lambda state, ctx: {})
    return fingerprint_of(graph, [MODULE])


def by_react(text: str) -> str:
    def search(name: str) -> str:
        return name

    search.__doc__ = text
    return fingerprint_of(react("texts", tools=[search, look_up]), [MODULE])


def test_another_text_is_other_code() -> None:
    for made in (by_decorator, by_react):
        assert made("Do it.") == made("Do it.")
        assert made("Do it.") != made("Do it twice.")


def test_its_indentation_is_not() -> None:
    assert by_react("Do it.\n\n    Twice.") == by_react("Do it.\n\n        Twice.\n    ")

"""What Python says of a bug (`KeyError: 'x'`) is for logs; people read a sentence of ours.

Where our code catches such an error, its text goes nowhere but into a log.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tools.size import parsed

from .sources import name, product

# What only a line of code can mean; of ValueError and OSError some are written for people.
OF_CODE = {
    "AttributeError", "IndexError", "KeyError", "LookupError", "NameError",
    "RecursionError", "TypeError", "ZeroDivisionError",
}  # fmt: skip
LOGGERS = {"log", "logger"}
# Here the error is about code of the author's, and what Python says of it is the message.
OF_AUTHORS = {
    "clients/python/src/gatepost_client/langgraph/forms.py": "a class of the author's",
    "workers/authoring/messages.py": "the types of a function of the author's",
    "workers/checking/effects.py": "a call of a tool of the author's",
    "workers/checking/graphs.py": "a node or schema of the author's",
    "workers/engine/rollback.py": "what an undo of the author's returned",
    "workers/language/configuration.py": "a module of the author's",
    "workers/step/advice.py": "the arguments of a tool of the author's",
}
# Here the error holds words that we put into it.
OF_OURS = {"approvals/policies/conditions.py": "the name that a condition asks for"}
# A stand-in for the world outside, which is no part of the product.
OUTSIDE = {"agents/gatepost_agents/testbank/server.py": "its switch for tests"}


def _names(node: ast.AST | None) -> set[str]:
    parts = ast.walk(node) if node is not None else ()
    return {n.id for n in parts if isinstance(n, ast.Name)}


def _is_log(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and bool(_names(node.func.value) & LOGGERS)
    )


def _texts(node: ast.AST, name: str) -> Iterator[int]:
    """Lines at which the text of an error is used, but for calls of a logger."""
    if _is_log(node):
        return
    is_text = (
        isinstance(node, ast.FormattedValue)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
    ) or (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("str", "repr", "describe")
        and any(isinstance(a, ast.Name) and a.id == name for a in node.args)
    )
    if is_text:
        yield node.lineno  # type: ignore[attr-defined]
    for inner in ast.iter_child_nodes(node):
        yield from _texts(inner, name)


def raw_texts(tree: ast.Module) -> list[int]:
    """Lines of a module that use the text of an error of code elsewhere than in a log."""
    return [
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and node.name and _names(node.type) & OF_CODE
        for statement in node.body
        for line in _texts(statement, node.name)
    ]


def test_no_text_of_a_bug_leaves_the_log() -> None:
    places = {name(path): lines for path in product() if (lines := raw_texts(parsed(path)))}
    exempt = OF_AUTHORS | OF_OURS | OUTSIDE
    assert {path: lines for path, lines in places.items() if path not in exempt} == {}
    assert not exempt.keys() - places.keys() - OF_OURS.keys(), "no longer needed"


def test_the_rule_sees_what_it_is_for() -> None:
    seen = """
try: f()
except (KeyError, ValueError) as error: raise Refused(f"no: {error}") from error
try: f()
except TypeError as error: return str(error)
try: f()
except LookupError as error: log.warning("x", error=repr(error))
try: f()
except OSError as error: raise Refused(str(error)) from error
"""
    assert raw_texts(ast.parse(seen.replace("return ", ""))) == [3, 5]

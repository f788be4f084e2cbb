"""News goes up by signal and no answer comes back: a lower floor never waits for an upper one."""

from __future__ import annotations

import ast

from tools.size import ROOT, parsed

from .sources import name, product

SENDS = {"send_robust", "asend_robust", "send", "asend"}
SIGNALS = {"checkpoints": "checkpoints/signals.py", "approvals": "approvals/signals.py"}


def signals() -> set[str]:
    """The names of all signals of the lower floors."""
    trees = [parsed(ROOT / path) for path in SIGNALS.values()]
    made = [n for tree in trees for n in tree.body if isinstance(n, ast.Assign)]
    return {t.id for n in made for t in n.targets if isinstance(t, ast.Name)}


def answers_read(tree: ast.Module, names: set[str]) -> list[int]:
    """Lines on which a signal is sent and what its receivers answer is used."""
    dropped = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in SENDS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in names
        and id(node) not in dropped
    ]


def test_nobody_reads_what_receivers_of_a_signal_answer() -> None:
    names = signals()
    assert {"thread_changed", "thread_queued", "decision_announced"} <= names
    read = {
        name(path): lines
        for path in product()
        if "send" in path.read_text() and (lines := answers_read(parsed(path), names))
    }
    assert read == {}


def test_a_read_answer_is_noticed() -> None:
    text = "told = thread_queued.send_robust(sender=None)\nthread_queued.send_robust(sender=None)"
    assert answers_read(ast.parse(text), {"thread_queued"}) == [1]

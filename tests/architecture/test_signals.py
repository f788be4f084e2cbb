"""News goes up by signal and no answer comes back: a lower floor never waits for an upper one."""

from __future__ import annotations

import ast

from .test_house import ROOT, sources

SENDS = {"send_robust", "asend_robust", "send", "asend"}
SIGNALS = {"checkpoints": "checkpoints/signals.py", "approvals": "approvals/signals.py"}


def signals() -> set[str]:
    """The names of all signals of the lower floors."""
    trees = [ast.parse((ROOT / path).read_text()) for path in SIGNALS.values()]
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
    assert {"thread_changed", "thread_queued", "decision_told"} <= names
    read = {
        str(path.relative_to(ROOT)): lines
        for path in sources()
        if path.relative_to(ROOT).parts[0] in (*SIGNALS, "workers", "dashboard")
        and "send" in (text := path.read_text())
        and (lines := answers_read(ast.parse(text), names))
    }
    assert read == {}


def test_a_read_answer_is_noticed() -> None:
    text = "told = thread_queued.send_robust(sender=None)\nthread_queued.send_robust(sender=None)"
    assert answers_read(ast.parse(text), {"thread_queued"}) == [1]

"""What `approvals.states` lists stands there only; SQL and templates agree with it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from approvals import states
from dashboard.html.templatetags import gatepost
from tools import size
from tools.size import ROOT, parsed

HOME = "approvals.states"
# Those that may import it.
FLOORS = ("approvals", "workers", "gatepost", "dashboard")
MODULES = {name: path for name, path in size.modules(FLOORS).items() if name != HOME}
LISTS = {
    name: frozenset(value) - {""}
    for name, value in vars(states).items()
    if isinstance(value, tuple)
}
_IN_LIST = re.compile(r"\bIN \(('\w+'(?:, '\w+')*)\)")


def written_lists(path: Path) -> Iterator[tuple[int, frozenset[str]]]:
    """(line, words) of each tuple, list, set and Literal of texts alone."""
    for node in ast.walk(parsed(ROOT / path)):
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            words = [e.value for e in node.elts if isinstance(e, ast.Constant)]
            if len(words) == len(node.elts) and all(isinstance(word, str) for word in words):
                yield node.lineno, frozenset(map(str, words)) - {""}


def test_nothing_is_listed_twice() -> None:
    second = [
        f"{path}:{line}: {HOME}.{name}"
        for path in MODULES.values()
        for line, words in written_lists(path)
        for name, known in LISTS.items()
        if words == known
    ]
    assert second == []


def test_sql_names_whole_lists() -> None:
    """Where SQL of requests names statuses or verdicts that allow, it is one of the lists."""
    decisive = {*states.UNSETTLED, *states.DECIDED, *states.ALLOWING} - {"edit"}
    named = {
        (str(path), frozenset(re.findall(r"\w+", listed)))
        for path in (*MODULES.values(), *size.sql_files())
        for listed in _IN_LIST.findall((ROOT / path).read_text())
    }
    results = {(path, words) for path, words in named if words & decisive}
    assert len(results) >= 6, "the pattern no longer fits how SQL is written"
    assert {(path, words) for path, words in results if words not in LISTS.values()} == set()


def test_what_is_drawn_by_risk_or_verdict_knows_all_of_them() -> None:
    assert set(gatepost.RISKS) == set(states.RISKS)
    assert set(gatepost.VERDICTS) == set(states.ANSWERS)


def test_templates_take_limits_from_the_code() -> None:
    numbers = [
        f"{path.relative_to(ROOT)}: {limit}"
        for path in sorted((ROOT / "templates").rglob("*.html"))
        for limit in re.findall(r'maxlength="?\d+', path.read_text())
    ]
    assert numbers == []

"""Rows are read by name, or unpacked into names: no value is taken out of one by its position."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tools.size import parsed

from .sources import name, product

POSITION_MAX = 1  # pairs may be read by position
_READS = re.compile(r"\.execute\(|fetch|\brows\(|_rows\(|\bsend\(")
# By module: what is no row, but parts of a text or the answer of a function. May only shrink.
NO_ROWS = {
    "approvals/notify/channels/mail.py": {"parseaddr(sender)[1].rpartition('@')"},
    "checkpoints/store/tree/reach.py": {"ref.partition(' ')"},
    "dashboard/identity/tokens.py": {"match", "parts"},
    "dashboard/live/origins.py": {"parts", "wanted"},
}


def positions(path: Path) -> Iterator[tuple[int, str]]:
    """(line, what is read) of each value that is taken by a position above POSITION_MAX."""
    for node in ast.walk(parsed(path)) if _READS.search(path.read_text()) else ():
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            at = node.slice.value
            if isinstance(at, int) and at > POSITION_MAX:
                yield node.lineno, ast.unparse(node.value)


def test_no_row_is_read_by_position() -> None:
    results = {name(path): list(positions(path)) for path in product()}
    exceptions = {path: {of for _, of in places} for path, places in results.items() if places}
    unknown = [
        f"{path}:{line}: {of}"
        for path, places in results.items()
        for line, of in places
        if of not in NO_ROWS.get(path, ())
    ]
    assert unknown == []
    assert exceptions == NO_ROWS, "shorten the list of exceptions"

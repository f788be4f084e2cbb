"""Lines that distinguish similar requests in a list, from their arguments; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from approvals.inbox.rows import InboxRow

DEEP: Final = 3
LONG: Final = 120
# Names under which people look first.
FIRST: Final = ("title", "subject", "name", "question", "goal", "to", "payee", "recipient")
_CODE = re.compile(r"[0-9a-f]{16,}|[0-9a-f-]{36}")


def distinctions(rows: Sequence[InboxRow]) -> dict[UUID, str]:
    """{request: "Title: Delays in May"}: what its tool says of it, where people wrote its title.

    Else the value that differs most among requests of one tool. Empty where nothing differs, or
    where arguments are too large for a list.
    """
    results: dict[UUID, str] = {}
    by_tool: dict[tuple[str, str], list[InboxRow]] = {}
    for row in rows:
        by_tool.setdefault((row.agent, row.tool), []).append(row)
    for alike in by_tool.values():
        values = {row.id: dict(_values(row.args)) for row in alike}
        path = _distinct_path(list(values.values()))
        for row in alike:
            if row.sentence and row.sentence not in row.title:
                results[row.id] = row.sentence
            elif path and path in values[row.id]:
                label = path.rpartition(".")[2].replace("_", " ")
                results[row.id] = f"{label[:1].upper()}{label[1:]}: {values[row.id][path]}"
    return results


def _distinct_path(many: Sequence[Mapping[str, str]]) -> str:
    """The path whose value differs in most of these; of equals one that people look at first."""
    paths = list(dict.fromkeys(path for values in many for path in values))
    if not paths:
        return ""

    def worth(path: str) -> tuple[int, bool, int]:
        different = len({values[path] for values in many if path in values})
        return different, path.rpartition(".")[2] in FIRST, -paths.index(path)

    best = max(paths, key=worth)
    return best if worth(best)[0] > 1 or (len(many) == 1 and worth(best)[1]) else ""


def _values(args: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    if isinstance(args, Mapping) and depth < DEEP:
        for name, value in args.items():
            yield from _values(value, f"{path}.{name}" if path else str(name), depth + 1)
    elif isinstance(args, str | int | float) and not isinstance(args, bool):
        text = str(args).strip()
        # A hash or an id means nothing to people.
        if text and not _CODE.fullmatch(text):
            yield path, text if len(text) <= LONG else f"{text[:LONG]}…"

"""Marks beside the values of a proposal that say where each comes from: a shape and a word.

A mark leads to the page that shows its source. Marks are found by the object or list that holds a
value and by the value's key in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.utils.html import format_html
from django.utils.safestring import SafeString

from approvals.rules.receipts.leaves import under
from dashboard.html.charts.symbols import symbol
from dashboard.html.differences import container
from dashboard.html.trees import Marks
from dashboard.wording.text import number, plain, visible

# (icon, tone) of each origin; the word is its own.
_LOOKS = {
    "recorded": ("check", "t-done"),
    "computed": ("plus", "t-done"),
    "person": ("user", "t-run"),
    "agent": ("llm", "t-wait"),
    "unread": ("search", "t-idle"),
}
_CONTRADICTED = ("stuck", "t-stuck")
NAME = 24  # characters of a person's name


class Known(Protocol):
    """The parts of a receipt that a mark needs."""

    path: str
    origin: Any
    source: str
    by: str
    url: str
    count: int
    note: str


def word_of(value: Known) -> str:
    """The word of a mark."""
    if value.origin == "recorded":
        return "Recorded"
    if value.origin == "computed":
        return f"Computed of {number(value.count)}"
    if value.origin == "person":
        return value.by if len(value.by) <= NAME else value.by[: NAME - 1] + "…"
    return "Not looked up" if value.origin == "unread" else "Agent only"


def mark(value: Known) -> SafeString:
    """The mark of one value, a link where a page shows its source."""
    shape, tone = _LOOKS[value.origin]
    if value.origin == "agent" and value.note:
        shape, tone = _CONTRADICTED
    inner = format_html("{}{}", symbol(shape), visible(word_of(value)))
    note = format_html(" <small>{}</small>", visible(value.note)) if value.note else ""
    if not value.url:
        return format_html('<span class="rc {}">{}</span>{}', tone, inner, note)
    title = plain(value.source)
    return format_html(
        '<a class="rc {}" href="{}" title="{}">{}</a>{}', tone, value.url, title, inner, note
    )


def marks(proposal: Any, values: Sequence[Known]) -> Marks:
    """{(id of the object or list, key): mark} of all values; the proposal must stay as it is."""
    by_path = {value.path: value for value in values}
    results: dict[tuple[int, str], SafeString] = {}
    stack = [(proposal, "$")]
    while stack:
        held, path = stack.pop()
        pairs = held.items() if isinstance(held, Mapping) else enumerate(held)
        for key, inner in pairs:
            here = under(path, key)
            if here in by_path:
                results[id(held), str(key)] = mark(by_path[here])
            elif container(inner):
                stack.append((inner, here))
            elif isinstance(inner, Mapping):  # a file: its name, size and hash are one
                results.update(_of_file(held, str(key), here, by_path))
    return results


def _of_file(
    held: Any, key: str, path: str, by_path: Mapping[str, Known]
) -> dict[tuple[int, str], SafeString]:
    known = by_path.get(under(path, "$artifact"))
    return {} if known is None else {(id(held), key): mark(known)}


@dataclass(frozen=True, slots=True)
class RowMark:
    """The mark that the values of a row share: of which origin, as HTML, and the cell's class."""

    origin: str = ""
    shown: SafeString | str = ""
    css: str = ""


def row_mark(values: Sequence[Known], url: str = "") -> RowMark:
    """The mark of the values of a row that are recorded, else of all if they are the agent's.

    `url` is where the whole table leads. A row that is recorded there as a whole has the word
    alone, and the heading has the link; the style draws the shape.
    """
    good = [value for value in values if value.origin == "recorded"]
    if not good:
        own = all(value.origin == "agent" and not value.note for value in values)
        return RowMark("agent", "Agent only", "own") if values and own else RowMark()
    words = "Recorded" if len(good) == len(values) else f"{len(good)} of {len(values)}"
    if all(value.url == url for value in good):
        return RowMark("recorded", words, "ok")
    link = format_html('<a class="rc t-done" href="{}">{}</a>', good[0].url, words)
    return RowMark("recorded", link, "ok")

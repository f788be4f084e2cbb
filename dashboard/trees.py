"""JSON as a folding tree in HTML, alone or with what changed against an older value.

Agent data is text: keys and strings pass through `visible`. Only what changed is unfolded in a
comparison; long lists and strings are cut, with the rest behind a fold or counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from django.urls import NoReverseMatch, reverse
from django.utils.safestring import SafeString, mark_safe

from .text import number, size, visible

SHA256 = re.compile("[0-9a-f]{64}")
FILE_KEYS = {"$artifact", "name", "media_type", "size"}
MAX_CHILDREN = 200
MAX_NODES = 3000
MAX_DEPTH = 60
CUT = 400  # characters of a string before the rest is folded
MAX_STRING = 20_000
KEPT = 3  # so many unchanged items at the front of a list are still shown
OPEN_MAX = 12  # an added object of at most so many keys starts open
SHOWN = 3  # so many added items of a list are seen at once where there are more than a handful
HANDFUL = 6


class _Missing:
    """Stands for "was not there", which is not the same as null."""


MISSING: Final = _Missing()


@dataclass(frozen=True, slots=True)
class Changes:
    """How many values a comparison found added, changed and removed."""

    added: int
    changed: int
    removed: int


def changes(new: Any, old: Any) -> Changes:
    """Count the outermost differences: a whole new object counts once."""
    marks = list(_differences(new, old))
    return Changes(marks.count("add"), marks.count("chg"), marks.count("del"))


def _differences(new: Any, old: Any) -> Iterator[str]:
    for _, after, before in _pairs(new, old):
        if before is MISSING:
            yield "add"
        elif after is MISSING:
            yield "del"
        elif _same(after, before):
            continue
        elif _container(after) and _container(before) and type(after) is type(before):
            yield from _differences(after, before)
        else:
            yield "chg"


def _pairs(new: Any, old: Any) -> Iterator[tuple[str, Any, Any]]:
    """(key, new, old) of two objects or lists; lists by index, so an append shows as added."""
    if isinstance(new, Mapping):
        before = old if isinstance(old, Mapping) else {}
        for key, value in new.items():
            yield str(key), value, before.get(key, MISSING)
        for key, value in before.items():
            if key not in new:
                yield str(key), MISSING, value
    else:
        before_list = old if isinstance(old, list) else []
        for i in range(max(len(new), len(before_list))):
            yield (
                str(i),
                new[i] if i < len(new) else MISSING,
                before_list[i] if i < len(before_list) else MISSING,
            )


def _container(value: Any) -> bool:
    return isinstance(value, Mapping | list) and not _is_file(value)


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b


def render(new: Any, old: Any = MISSING, *, unfold: int = 1, whole: bool = False) -> SafeString:
    """The tree of `new`; with `old`, its differences marked. `unfold` levels start open.

    A `whole` one is decided on: strings are complete behind their folds, what did not change is
    shown as well, and rows that are too many are counted and said to stand in the exact JSON.
    """
    writer = _Writer(unfold, whole)
    if old is MISSING:
        mode, old = "plain", None
    else:
        mode = "compare"
    if _container(new):
        items = writer.children(new, old, 0, mode)
    else:
        items = writer.line("value", new, old, 0, mode)
    return mark_safe(f'<ul class="tree">{items}</ul>')  # noqa: S308 - built from escaped parts


class _Writer:
    """Writes lines; `mode` is plain, compare, or the mark that a whole branch inherits."""

    def __init__(self, unfold: int, whole: bool = False) -> None:
        self.unfold, self.whole = unfold, whole
        self.left = MAX_NODES

    def children(self, new: Any, old: Any, depth: int, mode: str) -> str:
        pairs = list(_pairs(new, old if mode == "compare" else None))
        parts: list[str] = []
        done = 0
        if mode == "compare" and isinstance(new, list) and not self.whole:
            # Of a list that grew, the items that stayed are only counted.
            same = sum(1 for _ in takewhile(lambda pair: _same(pair[1], pair[2]), pairs))
            if same > KEPT:
                done = same - 1 if same < len(pairs) else same
                parts.append(_aside(f"… {number(done)} unchanged", depth))
        folded = self._many_added(new, pairs, mode)
        for key, after, before in pairs[done : done + MAX_CHILDREN]:
            if self.left <= 0:
                break
            if done == folded:
                more = number(len(pairs) - folded)
                css = _css(depth, "add")
                parts.append(
                    f'<li><details><summary class="{css}">'
                    f'<span class="x">… {more} more added</span></summary><ul>'
                )
            self.left -= 1
            done += 1
            parts.append(self.line(key, after, before, depth, mode))
        if folded is not None and done > folded:
            parts.append("</ul></details></li>")
        if done < len(pairs):
            where = ", in the exact JSON below" if self.whole else ""
            parts.append(_aside(f"… {number(len(pairs) - done)} more{where}", depth))
        return "".join(parts)

    def _many_added(self, new: Any, pairs: list[tuple[str, Any, Any]], mode: str) -> int | None:
        """From which item on those that a list grew by are folded; None: they are few."""
        if mode != "compare" or not isinstance(new, list) or self.whole:
            return None
        first = next((i for i, pair in enumerate(pairs) if pair[2] is MISSING), len(pairs))
        many = len(pairs) - first > HANDFUL and any(_container(pair[1]) for pair in pairs[first:])
        return first + SHOWN if many else None

    def line(self, key: str, new: Any, old: Any, depth: int, mode: str) -> str:
        mark, inner = _mark(new, old, mode)
        if inner == "compare" and depth >= MAX_DEPTH:
            mark = "chg"  # too deep to show what, but not that
        value = old if new is MISSING else new
        css = _css(depth, mark)
        name = f'<span class="k">{visible(key)}:</span>'
        if _container(value) and (value or inner == "compare") and depth < MAX_DEPTH:
            if mode == "plain" or inner == "plain":
                opened = (mode == "plain" or self.whole) and depth < self.unfold
            else:
                opened = inner == "compare" or (mode == "compare" and len(value) <= OPEN_MAX)
            return (
                f'<li><details{" open" if opened else ""}><summary class="{css}">{name}'
                f'<span class="x">{_count(value)}</span></summary>'
                f"<ul>{self.children(value, old, depth + 1, inner)}</ul></details></li>"
            )
        if mode == "compare" and mark == "chg":
            shown = f"<del>{self.scalar(old)}</del> <ins>{self.scalar(new)}</ins>"
        elif mark == "del":
            shown = f"<del>{self.scalar(value)}</del>"
        else:
            shown = self.scalar(value)
        return f'<li class="{css}">{name}<span class="v">{shown}</span></li>'

    def scalar(self, value: Any) -> str:
        return scalar(value, whole=self.whole)


def _mark(new: Any, old: Any, mode: str) -> tuple[str, str]:
    """(mark of this line, mode of the lines below it)."""
    if mode != "compare":
        return ("" if mode == "plain" else mode), mode
    if new is MISSING:
        return "del", "del"
    if old is MISSING:
        return "add", "add"
    if _same(new, old):
        return "", "plain"
    if _container(new) and _container(old) and type(new) is type(old):
        return "", "compare"
    return "chg", "chg"


def _aside(text: str, depth: int) -> str:
    return f'<li class="{_css(depth, "")}"><span class="x">{text}</span></li>'


def _css(depth: int, mark: str) -> str:
    return " ".join(filter(None, ("ln", f"d{min(depth, 8)}" if depth else "", mark)))


def files(value: Any) -> Iterator[Mapping[str, Any]]:
    """The references to artifacts anywhere inside a value."""
    if _is_file(value):
        yield value
    elif _container(value):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from files(inner)


def _is_file(value: Any) -> bool:
    """Whether a value is a reference to an artifact and nothing else."""
    return (
        isinstance(value, Mapping)
        and value.keys() <= FILE_KEYS
        and bool(SHA256.fullmatch(str(value.get("$artifact", ""))))
    )


def _file(value: Mapping[str, Any]) -> str:
    """A file as a link: what is decided on must be readable with one click."""
    sha, length = value["$artifact"], value.get("size")
    name: str = visible(value.get("name") or "file")
    about = [size(length)] if isinstance(length, int | float) else []
    about += [visible(value.get("media_type") or ""), f"sha256 {sha[:8]}…{sha[-4:]}"]
    try:
        name = f'<a class="link" href="{reverse("artifact", args=[sha])}">{name}</a>'
    except NoReverseMatch:  # a page of its own settings, as in a test
        pass
    return f'{name} <span class="x" title="{sha}">{" · ".join(filter(None, about))}</span>'


def _count(value: Any) -> str:
    n = len(value)
    if isinstance(value, Mapping):
        return f"{{ {number(n)} {'key' if n == 1 else 'keys'} }}"
    return f"[ {number(n)} {'item' if n == 1 else 'items'} ]"


def scalar(value: Any, *, whole: bool = False) -> str:
    """One value as HTML, typed by colour and by form: strings keep their quotes."""
    if isinstance(value, str):
        return f'<span class="s">{_string(value, len(value) if whole else MAX_STRING)}</span>'
    if isinstance(value, bool) or value is None:
        return f'<span class="b">{json.dumps(value)}</span>'
    if isinstance(value, int | float):
        return f'<span class="n">{json.dumps(value)}</span>'
    if _is_file(value):
        return _file(value)
    if _container(value):
        empty = "{ }" if isinstance(value, Mapping) else "[ ]"
        return f'<span class="x">{_count(value) if value else empty}</span>'
    return visible(value)


def _string(value: str, most: int) -> str:
    if len(value) <= CUT:
        return f'"{visible(value)}"'
    tail = value[CUT:most]
    rest = "" if len(value) <= most else f"… {number(len(value) - most)} more"
    return (
        f'<details class="long"><summary>"{visible(value[:CUT])}'
        f'<span class="cut">… {number(len(value) - CUT)} more characters</span></summary>'
        f'{visible(tail)}"{rest}</details>'
    )


def pretty(value: Any) -> SafeString:
    """JSON text with indents, hidden characters marked, for a <pre>."""
    return visible(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True))

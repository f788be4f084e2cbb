"""JSON as a folding tree in HTML, alone or with what changed against an older value.

Agent data is text: keys and strings pass through `visible`. Only what changed is unfolded in a
comparison; long lists and strings are cut, with the rest behind a fold or counted. With `sides` a
tree is light: what would be folded, or lies below two levels, is a link to a page of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from django.urls import NoReverseMatch, reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from checkpoints.memories import REF, is_ref
from checkpoints.state import marked
from checkpoints.state.encrypted import is_envelope
from checkpoints.state.list_keys import Part
from dashboard.wording.parties import ACCOUNTS
from dashboard.wording.sentences import as_text
from dashboard.wording.text import number, size, visible

from . import list_pairs
from .differences import (
    account_changed,
    change_mark,
    container,
    differing,
    is_file,
    pairs_of,
    same,
)
from .file_links import file_url
from .list_pairs import MISSING
from .places import LONG as CUT
from .places import Sides

type Marks = Mapping[tuple[int, str], SafeString]  # by the id of what holds a value, and its key
type Texts = Callable[[str], str]  # the address of a text of a tree, "" where it has none

MAX_CHILDREN = 200
MAX_NODES = 3000
ALONE = 150  # lines of a tree that is not light, among other things on a page
MAX_DEPTH = 60
MAX_STRING = 20_000
WHOLE_STRING = 100_000  # characters of one text of a whole tree
OPEN_MAX = 12  # an added object of at most this number of keys starts open
SHOWN = 3  # added items of a list that are open where there are more than a handful
HANDFUL = 6
# Of a light tree: open lines, characters of a value that count as one more, items of a container
# below the first level, levels.
LINES, LINE, ITEMS, LEVELS = 60, 90, 20, 2
# A link of a light tree is followed in its place; other answers, such as the login, are not shown.
_SWAP = 'hx-swap="outerHTML show:none" hx-select="[data-value]"'
IN_PLACE = f'hx-target="closest li" {_SWAP}'
_OF_TEXT, _OF_REST = 'hx-target="closest .s"', f'hx-target="this" {_SWAP}'


def render(
    new: Any,
    old: Any = MISSING,
    *,
    unfold: int = 1,
    whole: bool = False,
    schema: Mapping[str, Any] | Part | None = None,
    marks: Marks | None = None,
    tabled: frozenset[int] = frozenset(),
    sides: Sides | None = None,
    texts: Texts | None = None,
    start: int = 0,
    most: int = MAX_NODES,
) -> SafeString:
    """The tree of `new`; with `old`, its differences marked. `unfold` levels start open.

    A `whole` one is decided on: strings are complete behind their folds up to a bound, what did not
    change is shown as well, and what is too much is counted and said to stand in the exact JSON.
    `marks` stand behind the values of `new` that they are of. Lists of `tabled` identities are only
    counted, with what changed in them: a table below has them. With `sides` it is light: they say
    where its other parts stand, and its lines begin with number `start`. With `texts` a very long
    text of `new` is fetched when it is unfolded. It has at most `most` lines.
    """
    if sides and sides.notes:
        marks = {**(marks or {}), **{(id(new), key): note for key, note in sides.notes.items()}}
    writer = _Writer(unfold, whole, marks, tabled, sides, texts)
    writer.left = min(most, MAX_NODES)
    part = schema if isinstance(schema, Part) else Part.of(schema)
    mode = "plain" if old is MISSING else "compare"
    old = None if old is MISSING else old
    if container(new):
        items = writer.children(new, old, 0, mode, part, start)
    else:
        items = writer.line("value", new, old, 0, mode, part)
    light = f" {IN_PLACE}" if sides else ""
    return mark_safe(f'<ul class="tree"{light}>{items}</ul>')  # noqa: S308 - built from escaped parts


def fragment(
    key: str,
    new: Any,
    old: Any = MISSING,
    *,
    sides: Sides,
    address: str,
    depth: int,
    start: int = 0,
    schema: Part,
) -> SafeString:
    """Draw the part that replaces a light tree's link to `address`, at this depth of it.

    It is the opened fold of a container, the lines of one from `start` on, or a long string.
    """
    writer = _Writer(1, sides=sides)
    mode, old = ("plain", None) if old is MISSING else ("compare", old)
    here = f'data-value="{escape(address)}"'
    if not container(new):
        html = f'<span class="s" {here}>"{writer.text(new, start)}"</span>'
    elif start:
        html = (
            f"<li {here}><ul>{writer.children(new, old, depth + 1, mode, schema, start)}</ul></li>"
        )
    else:
        name = f'<span class="k">{visible(key)}:</span><span class="x">{_count(new)}</span>'
        summary = f'<summary class="{_css(depth, "")}" autofocus>{name}</summary>'
        items = writer.children(new, old, depth + 1, mode, schema)
        html = f"<li {here}><details open>{summary}<ul>{items}</ul></details></li>"
    return mark_safe(html)  # noqa: S308 - built from escaped parts


class _Writer:
    """Writes lines; `mode` is plain, compare, or the mark that a whole branch inherits."""

    def __init__(
        self,
        unfold: int,
        whole: bool = False,
        marks: Marks | None = None,
        tabled: frozenset[int] = frozenset(),
        sides: Sides | None = None,
        texts: Texts | None = None,
    ) -> None:
        self.unfold, self.whole, self.marks, self.tabled = unfold, whole, marks or {}, tabled
        self.sides, self.texts = sides, texts
        self.left = LINES if sides else MAX_NODES

    def children(
        self, new: Any, old: Any, depth: int, mode: str, part: Part, start: int = 0
    ) -> str:
        if self.sides:
            self.sides.open(new, old)
        if mode == "compare" and isinstance(new, list) and isinstance(old, list):
            return self.compared(new, old, depth, part, start)
        old_one = old if mode == "compare" else None
        pairs = islice(pairs_of(new, old_one, part), start, start + MAX_CHILDREN + 1)
        left = _n_pairs(new, old_one) - start
        return self.some(pairs, depth, mode, part, (new, old), start, left)

    def some(
        self,
        pairs: Iterable[tuple[str, Any, Any]],
        depth: int,
        mode: str,
        part: Part,
        owner: tuple[Any, Any] = (None, None),
        start: int = 0,
        left: int | None = None,
    ) -> str:
        """The lines of these pairs, cut where they are too many; `owner` is whose they are.

        They begin with number `start` of it; `left` counts them where they are not at hand.
        """
        parts: list[str] = []
        most = ITEMS if self.sides and depth else MAX_CHILDREN
        if left is None:
            pairs = list(pairs)
            left = len(pairs)
        for done, (key, after, before) in enumerate(pairs):
            # All channels of a state are seen, however little each shows.
            floor = -LINES if self.sides and not self.sides.new.at and not depth else 0
            if done >= most or self.left <= floor:
                parts.append(self.more(left - done, depth, mode, owner, start + done))
                break
            self.left -= 1
            note = self.marks.get((id(owner[0]), key), "") if after is not MISSING else ""
            saved = 0 if depth or not self.sides else self.reserve(left - done - 1)
            parts.append(self.line(key, after, before, depth, mode, part.under(key), note))
            self.left += saved
        return "".join(parts)

    def reserve(self, n: int) -> int:
        """Lines that the next of several keys of a light tree leaves to the `n` after it."""
        saved = min(n * 2, max(self.left - 2, 0))
        self.left -= saved
        return saved

    def more(self, n: int, depth: int, mode: str, owner: tuple[Any, Any], start: int) -> str:
        """The line that stands for `n` others of a container; in a light tree a link to them."""
        text = f"… {number(n)} more{', in the exact JSON below' if self.whole else ''}"
        if address := self.address(*owner, mode, start):
            link = f'<a class="fold" href="{escape(address)}" hx-boost="true">{text}</a>'
            return f'<li class="{_css(depth, "")}">{link}</li>'
        return _aside(text, depth)

    def address(self, new: Any, old: Any, mode: str, start: int = 0) -> str:
        """The page of a part in a light tree; "" in others, and where it has none."""
        if self.sides is None:
            return ""
        removed = mode == "del" or new is MISSING
        value = old if new is MISSING else new
        beside = old if mode == "compare" and not removed and old is not MISSING else None
        return self.sides.address(value, beside, removed=removed, start=start)

    def compared(
        self, new: list[Any], old: list[Any], depth: int, part: Part, start: int = 0
    ) -> str:
        """A list beside an older one: the sum, then what changed, came, went and stayed."""
        # A whole tree has a line for what did not change as well; others only count it.
        pairs = pairs_of(new, old, part) if self.whole else differing(new, old, part)
        groups = _by_mark(pairs, part)
        groups["chg"].sort(key=lambda pair: not account_changed(pair))
        parts = [] if start else [_aside(text, depth) for text in _sum(groups)]
        if self.sides:
            lines = [pair for mark in ("chg", "add", "del") for pair in groups[mark]]
            parts.append(self.some(lines[start:], depth, "compare", part, (new, old), start))
        else:
            parts.append(self.some(groups["chg"], depth, "compare", part))
            parts += [self.folded(groups[mark], mark, depth, part) for mark in ("add", "del")]
        same = groups[""]
        if same and self.whole:
            lines_of_same = self.some(same, depth, "plain", part)
            parts.append(_fold(f"… {number(len(same))} unchanged", "", depth, lines_of_same))
        elif not self.whole and not start and (n := len(same) + list_pairs.shared(new, old)):
            parts.append(_aside(f"… {number(n)} unchanged", depth))
        if not start and list_pairs.reordered(new, old, part.key):
            parts.append(_aside("… the order differs", depth))
        return "".join(parts)

    def beside_table(self, new: list[Any], old: list[Any], part: Part, depth: int) -> str:
        """A list whose lines a table below has, beside an older one: counts, and what changed."""
        groups = _by_mark(differing(new, old, part), part)
        changed = sorted(groups["chg"], key=lambda pair: not account_changed(pair))
        alarms = sum(map(account_changed, changed))
        counts = [_count(new), "in the table below", *_sum(groups)]
        if not groups["chg"] and not groups["del"] and groups["add"]:
            counts.append(f"+ {number(len(groups['add']))}")
        shown = changed[: max(alarms, HANDFUL)]
        lines = self.some(shown, depth, "compare", part)
        if rest := len(changed) - len(shown):
            lines += _aside(f"… {number(rest)} more changed, in the table below", depth)
        below = f"<ul>{lines}</ul>" if lines else ""
        return f'<span class="x">{", ".join(counts)}</span>{below}'

    def folded(self, pairs: list[tuple[str, Any, Any]], mark: str, depth: int, part: Part) -> str:
        """Draw added or removed items; of more than a handful of objects, fold the rest.

        A whole value shows all that it has; what only an older one had may be folded there too.
        """
        large = any(container(old if new is MISSING else new) for _, new, old in pairs)
        if (self.whole and mark == "add") or not large or len(pairs) <= HANDFUL:
            return self.some(pairs, depth, "compare", part)
        rest = self.some(pairs[SHOWN:], depth, "compare", part)
        more = f"… {number(len(pairs) - SHOWN)} more {'added' if mark == 'add' else 'removed'}"
        return self.some(pairs[:SHOWN], depth, "compare", part) + _fold(more, mark, depth, rest)

    def line(
        self, key: str, new: Any, old: Any, depth: int, mode: str, part: Part, note: str = ""
    ) -> str:
        mark, inner = _mark(new, old, mode)
        if mode == "compare" and account_changed((key, new, old)):
            mark = f"{mark} alarm".strip()
        if inner == "compare" and depth >= MAX_DEPTH:
            mark = "chg"  # too deep to show what, but not that
        value = old if new is MISSING else new
        css = _css(depth, mark)
        name = f'<span class="k">{visible(key)}:</span>'
        if mode == "compare" and inner == "plain" and not self.whole and container(value) and value:
            # What did not change is counted: the whole of it stands in the whole state.
            return f'<li class="{css}">{name}<span class="x">{_count(value)} unchanged</span></li>'
        if inner in ("plain", "add") and id(new) in self.tabled:
            same = " unchanged" if mode == "compare" and inner == "plain" else ""
            count = f'<span class="x">{_count(value)}{same}, in the table below</span>'
            return f'<li class="{css}">{name}{count}</li>'
        if inner == "compare" and id(new) in self.tabled:
            return f'<li class="{css}">{name}{self.beside_table(new, old, part, depth + 1)}</li>'
        if container(value) and (value or inner == "compare") and depth < MAX_DEPTH:
            if mode == "plain" or inner == "plain":
                opened = (mode == "plain" or self.whole) and depth < self.unfold
            else:
                opened = inner == "compare" or (mode == "compare" and len(value) <= OPEN_MAX)
            below = f'{name}<span class="x">{_count(value)}</span>'
            deep = inner != "compare" and depth + 1 >= LEVELS
            if not opened or deep or self.left <= 0:
                gone = "del" if inner == "del" else mode
                if address := self.address(new, old, gone):
                    link = f'<a class="fold" href="{escape(address)}" hx-boost="true">{below}</a>'
                    return f'<li class="{css}">{link}</li>'
            return (
                f'<li><details{" open" if opened else ""}><summary class="{css}">{below}</summary>'
                f"<ul>{self.children(value, old, depth + 1, inner, part)}</ul></details></li>"
            )
        if mode == "compare" and mark.startswith("chg"):
            shown = f"<del>{self.scalar(old, removed=True)}</del> <ins>{self.scalar(new)}</ins>"
        elif mark == "del":
            shown = f"<del>{self.scalar(value, removed=True)}</del>"
        else:
            shown = self.scalar(value)
        self.left -= len(shown) // LINE if self.sides else 0
        return f'<li class="{css}">{name}<span class="v">{shown}{note and " "}{note}</span></li>'

    def scalar(self, value: Any, *, removed: bool = False) -> str:
        cut = self.sides and isinstance(value, str) and len(value) > CUT
        address = self.address(value, None, "del" if removed else "plain") if cut else ""
        if not address and self.texts and isinstance(value, str) and len(value) > MAX_STRING:
            # An older one has no address: its beginning is folded here.
            address = "" if removed else self.texts(value)
            if not address:
                return scalar(value)
            return _cut(value, address, _OF_REST)
        if not address:
            return scalar(value, whole=self.whole)
        return _cut(value, address, _OF_TEXT)

    def text(self, value: Any, start: int) -> str:
        """A long string from `start` on, with a link to the rest of a very long one."""
        raw = str(value)
        shown = visible(raw[start : start + MAX_STRING])
        rest = len(raw) - start - MAX_STRING
        address = self.address(value, None, "plain", start + MAX_STRING) if rest > 0 else ""
        if not address:
            return shown
        return (
            f'{shown}<a class="cut" href="{escape(address)}">… {number(rest)} more characters</a>'
        )


def text_from(value: str, start: int, here: str, after: str) -> SafeString:
    """Draw the rest of a long text in the place of its link; what is too much is one again.

    `here` is the address of this part and `after` that of the next one.
    """
    end = start + WHOLE_STRING
    more = _more(len(value) - end, after, _OF_REST) if len(value) > end else ""
    return mark_safe(  # noqa: S308 - built from escaped parts
        f'<span data-value="{escape(here)}">{visible(value[start:end])}{more}</span>'
    )


def _cut(value: str, address: str, attributes: str) -> str:
    """The beginning of a text, with a link that its rest takes the place of."""
    more = _more(len(value) - CUT, address, attributes)
    return f'<span class="s">"{visible(value[:CUT])}{more}"</span>'


def _more(n: int, address: str, attributes: str) -> str:
    return (
        f'<a class="cut" href="{escape(address)}" hx-boost="true" {attributes}>'
        f"… {number(n)} more characters</a>"
    )


def _n_pairs(new: Any, old: Any) -> int:
    """The number of the pairs of `pairs_of`, of anything but two lists."""
    gone = old.keys() - new.keys() if isinstance(new, Mapping) and isinstance(old, Mapping) else ()
    return len(new) + len(gone)


def _by_mark(
    pairs: Iterable[tuple[str, Any, Any]], part: Part
) -> dict[str, list[tuple[str, Any, Any]]]:
    """{mark: pairs} of items that changed, came, went, and of others under ""."""
    groups: dict[str, list[tuple[str, Any, Any]]] = {m: [] for m in ("chg", "add", "del", "")}
    for pair in pairs:
        groups[change_mark(*pair, part)].append(pair)
    return groups


def _mark(new: Any, old: Any, mode: str) -> tuple[str, str]:
    """(mark of this line, mode of the lines below it)."""
    if mode != "compare":
        return ("" if mode == "plain" else mode), mode
    if new is MISSING:
        return "del", "del"
    if old is MISSING:
        return "add", "add"
    if same(new, old):
        return "", "plain"
    if container(new) and container(old) and type(new) is type(old):
        return "", "compare"
    return "chg", "chg"


def _sum(groups: Mapping[str, Sequence[tuple[str, Any, Any]]]) -> Iterator[str]:
    """Summarise the differences of two lists in a line; nothing if only a little was added."""
    if not groups["chg"] and not groups["del"]:
        return
    names = Counter(
        name
        for _, new, old in groups["chg"]
        for name in list_pairs.changed_fields(new, old)[:1] or ["item"]
    )
    ranked = sorted(names.items(), key=lambda pair: (pair[0] not in ACCOUNTS, -pair[1]))
    words = [
        f"~ {number(n)} {'items' if name == 'item' and n > 1 else visible(name)} changed"
        for name, n in ranked[:SHOWN]
    ]
    if rest := sum(n for _, n in ranked[SHOWN:]):
        words.append(f"~ {number(rest)} others changed")
    words += [f"{s} {number(len(groups[m]))}" for s, m in (("+", "add"), ("−", "del")) if groups[m]]
    yield ", ".join(words)


def _fold(text: str, mark: str, depth: int, lines: str) -> str:
    css = _css(depth, mark)
    return (
        f'<li><details><summary class="{css}"><span class="x">{text}</span></summary>'
        f"<ul>{lines}</ul></details></li>"
    )


def _aside(text: str, depth: int) -> str:
    return f'<li class="{_css(depth, "")}"><span class="x">{text}</span></li>'


def _css(depth: int, mark: str) -> str:
    return " ".join(filter(None, ("ln", f"d{min(depth, 8)}" if depth else "", mark)))


def files(value: Any) -> Iterator[Mapping[str, Any]]:
    """The references to artifacts anywhere inside a value."""
    if is_file(value):
        yield value
    elif container(value):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from files(inner)


def _file(value: Mapping[str, Any]) -> str:
    """A file as a link: what is decided on must be readable with one click."""
    sha, length = value["$artifact"], value.get("size")
    name: str = visible(value.get("name") or "file")
    about = [size(length)] if isinstance(length, int | float) else []
    about += [visible(value.get("media_type") or ""), f"sha256 {sha[:8]}…{sha[-4:]}"]
    try:
        link = file_url(sha, str(value.get("name") or "file"))
        name = f'<a class="link" href="{escape(link)}">{name}</a>'
    except NoReverseMatch:  # a page of its own settings, as in a test
        pass
    return f'{name} <span class="x" title="{sha}">{" · ".join(filter(None, about))}</span>'


def _memory(value: Mapping[str, Any]) -> str:
    """A memory that the state refers to, as a link."""
    name = f"memory {visible(value[REF][-8:])}"
    try:
        link = reverse("memory", args=[value[REF]])
        name = f'<a class="link" href="{escape(link)}">{name}</a>'
    except NoReverseMatch:  # no id, or a page of its own settings, as in a test
        pass
    return f'{name} <span class="x">revision {number(value["revision"])}</span>'


def _count(value: Any) -> str:
    n = len(value)
    if isinstance(value, Mapping):
        return f"{{ {number(n)} {'key' if n == 1 else 'keys'} }}"
    return f"[ {number(n)} {'item' if n == 1 else 'items'} ]"


def scalar(value: Any, *, whole: bool = False) -> str:
    """One value as HTML, typed by colour and by form: strings keep their quotes."""
    if isinstance(value, str):
        return f'<span class="s">{_string(value, whole=whole)}</span>'
    if isinstance(value, bool) or value is None:
        return f'<span class="b">{json.dumps(value)}</span>'
    if isinstance(value, int | float):
        return f'<span class="n">{json.dumps(value)}</span>'
    if is_file(value):
        return _file(value)
    if marked.is_mark(value):
        return _exact(value, whole=whole)
    if is_ref(value):
        return _memory(value)
    if is_envelope(value):
        return '<span class="x">encrypted</span>'
    if container(value):
        empty = "{ }" if isinstance(value, Mapping) else "[ ]"
        return f'<span class="x">{_count(value) if value else empty}</span>'
    return visible(value)


def _exact(value: Mapping[str, Any], *, whole: bool) -> str:
    """Draw what a part in a marked form stands for, with its kind."""
    ((_, kind),) = marked.marks(value)
    part = marked.large_part(value)
    if part is not None and is_file(part["file"]):
        return f'{_file(part["file"])} <span class="x">{visible(part["start"][:CUT])}…</span>'
    text = as_text(value)
    shown = _string(text, whole=whole)
    return f'<span class="s">{shown}</span> <span class="x">{visible(kind)}</span>'


def _string(value: str, *, whole: bool) -> str:
    if len(value) <= CUT:
        return f'"{visible(value)}"'
    most = WHOLE_STRING if whole else MAX_STRING
    tail = value[CUT:most]
    where = ", in the exact JSON below" if whole else ""
    rest = "" if len(value) <= most else f"… {number(len(value) - most)} more characters{where}"
    return (
        f'<details class="long"><summary>"{visible(value[:CUT])}'
        f'<span class="cut">… {number(len(value) - CUT)} more characters</span></summary>'
        f'{visible(tail)}"{rest}</details>'
    )


def pretty(value: Any) -> SafeString:
    """JSON text with indents, hidden characters marked, for a <pre>."""
    return visible(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True))

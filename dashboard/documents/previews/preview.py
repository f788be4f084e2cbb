"""A bounded look into a file: text, a table, a picture or JSON; everything else is only downloaded.

Decided by the first bytes, and among texts by the name. What a browser would make a page of
(HTML, SVG and other XML) is never shown, whatever it is called. Pure.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zlib
from dataclasses import dataclass
from typing import Any, Final

from .pictures import MEDIA_TYPES, Picture, picture_in

READ: Final = 256 * 1024  # bytes of a file that are looked at
TEXT_MAX: Final = 20_000  # characters of a text, and of all cells of a table
ROWS_MAX, COLUMNS_MAX, CELL_MAX = 100, 30, 120
PICTURE_MAX: Final = 8 * 1024 * 1024  # bytes
GZIP: Final = b"\x1f\x8b"
TEXT, TABLE, PICTURE, TREE, NONE = "text", "table", "picture", "json", "none"
# How a page begins, in whatever a browser would take for one.
_MARKUP: Final = re.compile(rb"\s*<(?:!doctype|!--|\?|!\[|/?[a-z])", re.IGNORECASE)
_PAGES: Final = (
    ".html",
    ".htm",
    ".xhtml",
    ".shtml",
    ".svg",
    ".svgz",
    ".xml",
    ".xsl",
    ".mht",
    ".mhtml",
)
_PRINTED: Final = (b"%PDF", b"%!PS")  # written in words, and nothing to read
_MARKS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_NAMES: Final = re.compile(r"\.(csv|tsv|json)(?:\.gz)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Preview:
    """A bounded look: `cut` says that there is more, `why` the reason where nothing is shown."""

    kind: str
    text: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    value: Any = None
    picture: Picture | None = None
    cut: bool = False
    why: str = ""


def is_previewed(name: str, media_type: str) -> bool:
    """Return whether a file of this name probably has a preview."""
    lower = name.lower()
    if lower.endswith(_PAGES) or media_type in ("text/html", "image/svg+xml"):
        return False
    return (
        media_type.startswith("text/")
        or media_type in MEDIA_TYPES
        or media_type == "application/json"
        or lower.endswith((".md", ".txt", ".log", ".csv", ".tsv", ".json", ".jsonl", ".yaml"))
    )


def preview_of(head: bytes, *, name: str, size: int) -> Preview:
    """The preview of a file that begins with `head` (READ bytes of it) and has `size`."""
    if (picture := picture_in(head)) is not None:
        if size > PICTURE_MAX or not picture.fits:
            return Preview(NONE, why="The picture is too large to be shown here.")
        return Preview(PICTURE, picture=picture)
    cut = size > len(head)
    if head.startswith(GZIP) and _NAMES.search(name):
        unpacked = _unpacked(head)
        if unpacked is None:
            return Preview(NONE, why="The file cannot be unpacked.")
        head, more = unpacked
        cut = cut or more
    if name.lower().endswith(_PAGES) or _MARKUP.match(_without_mark(head)):
        return Preview(NONE, why="Web pages and drawings are not shown here.")
    text = None if head.startswith(_PRINTED) else _decoded(head, cut)
    if text is None:
        return Preview(NONE, why="This kind of file is not shown here.")
    match = _NAMES.search(name)
    kind = match[1].lower() if match else ""
    if kind == "json" and not cut:
        shown = _json(text)
        if shown is not None:
            return shown
    if kind in ("csv", "tsv"):
        table = _table(text, "\t" if kind == "tsv" else ",", cut)
        if table is not None:
            return table
    return Preview(TEXT, text=text[:TEXT_MAX], cut=cut or len(text) > TEXT_MAX)


def _unpacked(head: bytes) -> tuple[bytes, bool] | None:
    """(bytes, whether there are more) of a gzip member, never more than READ of them."""
    stream = zlib.decompressobj(31)
    try:
        result = stream.decompress(head, READ)
    except zlib.error:
        return None
    return result, not stream.eof or bool(stream.unconsumed_tail)


def _without_mark(head: bytes) -> bytes:
    for mark in _MARKS:
        if head.startswith(mark):
            # Of two bytes a character only the second of each is looked at.
            return head[len(mark) :].replace(b"\0", b"") if len(mark) == 2 else head[len(mark) :]
    return head


def _decoded(head: bytes, cut: bool) -> str | None:
    """The text in UTF-8, without the character that the cut goes through; None for no text."""
    for drop in range(4 if cut else 1):
        try:
            text = head[: len(head) - drop].decode("utf-8-sig")
        except UnicodeDecodeError:
            continue
        return None if "\0" in text else text
    return None


def _json(text: str) -> Preview | None:
    try:
        value = json.loads(text, object_pairs_hook=_unique)
        # What cannot be written again is no JSON: infinities, halves of characters.
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return Preview(TREE, value=value)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("A key stands twice: a tree would hide one of its values.")
    return result


def _table(text: str, delimiter: str, cut: bool) -> Preview | None:
    """The first rows; a row that the cut goes through is left out."""
    rows: list[tuple[str, ...]] = []
    more, left = cut, TEXT_MAX
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            shown = tuple(_bounded(cell) for cell in row[:COLUMNS_MAX])
            left -= sum(map(len, shown))
            if len(rows) > ROWS_MAX or left < 0:
                more = True
                break
            more = more or list(shown) != row
            rows.append(shown)
        else:
            rows = rows[:-1] if cut and len(rows) > 1 else rows
    except csv.Error:
        return None
    return Preview(TABLE, header=rows[0], rows=tuple(rows[1:]), cut=more) if rows else None


def _bounded(cell: str) -> str:
    return cell if len(cell) <= CELL_MAX else f"{cell[: CELL_MAX - 1]}…"

"""What a preview takes a file for: by its bytes, bounded, and nothing that a browser would run."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from collections.abc import Iterator
from random import Random

import pytest

from dashboard.documents.previews.pictures import PIXELS_MAX, picture_in
from dashboard.documents.previews.preview import (
    CELL_MAX,
    COLUMNS_MAX,
    READ,
    ROWS_MAX,
    TEXT_MAX,
    Preview,
    is_previewed,
    preview_of,
)


def png(width: int = 3, height: int = 2) -> bytes:
    """A whole PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        raw = kind + data
        return struct.pack(">I", len(data)) + raw + struct.pack(">I", zlib.crc32(raw))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + bytes(width) for _ in range(min(height, 4)))
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


PICTURES = {
    "image/png": png(),
    "image/gif": b"GIF89a" + struct.pack("<HH", 3, 2) + bytes(20),
    "image/jpeg": b"\xff\xd8\xff\xe0\x00\x04\0\0\xff\xc0\x00\x11\x08\x00\x02\x00\x03" + bytes(20),
    "image/webp": b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x02\0\0\x01\0\0" + bytes(9),
}
# What a browser might run, under names and with beginnings that hide it.
RUNNABLE = [
    b"<!doctype html><script>alert(1)</script>",
    b"<html><body onload=alert(1)>",
    b"\xef\xbb\xbf  <svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    b"<?xml version='1.0'?><svg/>",
    b"<!-- --><script>alert(1)</script>",
    b"<![CDATA[<script>]]>",
    b"\n\t<IMG SRC=x onerror=alert(1)>",
    "<html>".encode("utf-16"),
    b"\xfe\xff" + "<script>".encode("utf-16-be"),
]
NAMES = ["a.txt", "a.csv", "a.json", "a.png", "report", "a.md", "a.tsv", "x.html.txt"]


@pytest.mark.parametrize("media_type", PICTURES)
def test_a_picture_is_known_by_its_bytes_and_not_by_its_name(media_type: str) -> None:
    raw = PICTURES[media_type]
    for name in (*NAMES, "a.html", "a.svg"):
        shown = preview_of(raw, name=name, size=len(raw))
        assert shown.kind == "picture"
        assert shown.picture is not None
        assert (shown.picture.media_type, shown.picture.width, shown.picture.height) == (
            media_type, 3, 2,
        )  # fmt: skip
    for end in range(len(raw)):
        picture_in(raw[:end])  # cut anywhere, it is a picture or none


def test_a_picture_too_large_to_draw_is_only_downloaded() -> None:
    raw = png(60_000, 60_000)
    assert PIXELS_MAX < 60_000 * 60_000
    assert preview_of(raw, name="a.png", size=len(raw)).kind == "none"
    assert preview_of(png(), name="a.png", size=9 * 1024 * 1024).kind == "none"
    assert preview_of(png(0, 5), name="a.png", size=100).kind == "none"


@pytest.mark.parametrize("raw", RUNNABLE)
def test_what_a_browser_would_run_is_never_shown(raw: bytes) -> None:
    for name in NAMES:
        assert preview_of(raw, name=name, size=len(raw)).kind == "none", name


@pytest.mark.parametrize("name", ["a.html", "A.HTM", "b.svg", "c.xhtml", "d.xml", "e.mhtml"])
def test_nothing_under_the_name_of_a_page_is_shown(name: str) -> None:
    assert preview_of(b"plain words", name=name, size=11).kind == "none"
    assert not is_previewed(name, "text/plain")


def test_text_is_shown_as_it_is_and_cut() -> None:
    raw = "Grüße\n".encode() * 10_000
    shown = preview_of(raw, name="a.md", size=len(raw))
    assert (shown.kind, len(shown.text), shown.cut) == ("text", TEXT_MAX, True)
    assert preview_of(b"", name="a.txt", size=0) == Preview("text")
    # The cut goes through a character.
    assert preview_of("aä".encode()[:-1], name="a.txt", size=3).text == "a"
    assert preview_of("aä".encode()[:-1], name="a.txt", size=2).kind == "none"


def test_a_table_has_its_first_rows_and_columns() -> None:
    lines = [",".join(f"c{n}" for n in range(50))]
    lines += [",".join([f'"r{row}, x"', "y" * 500, *"z" * 48]) for row in range(300)]
    raw = "\n".join(lines).encode()
    for packed in (raw, gzip.compress(raw)):
        name = "t.csv" if packed is raw else "t.csv.gz"
        shown = preview_of(packed[:READ], name=name, size=len(packed))
        assert (shown.kind, shown.cut) == ("table", True)
        assert len(shown.header) == COLUMNS_MAX
        assert 50 < len(shown.rows) <= ROWS_MAX
        assert shown.rows[0][0] == "r0, x"
        assert max(len(cell) for row in shown.rows for cell in row) <= CELL_MAX
    few = preview_of(b"a\tb\n1\t2\n", name="t.tsv", size=8)
    assert (few.header, few.rows, few.cut) == (("a", "b"), (("1", "2"),), False)


def test_a_table_is_not_cut_within_a_row() -> None:
    raw = b"a,b\n1,2\n3,4"
    assert preview_of(raw, name="t.csv", size=len(raw) + 5).rows == (("1", "2"),)
    assert preview_of(raw, name="t.csv", size=len(raw)).rows == (("1", "2"), ("3", "4"))


def test_a_bomb_is_not_unpacked() -> None:
    raw = gzip.compress(b"1" * 20_000_000)
    shown = preview_of(raw[:READ], name="t.csv.gz", size=len(raw))
    assert shown.cut
    assert sum(len(cell) for cell in shown.header) <= TEXT_MAX
    assert preview_of(b"\x1f\x8bnothing", name="t.csv.gz", size=9).kind == "none"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"a": [1, 2.5, null]}', "json"),
        ('{"a": 1, "a": 2}', "text"),
        ("[1e999]", "text"),
        ("[NaN]", "text"),
        ('["\\ud800"]', "text"),
        ("[" * 100_000, "text"),
        ("[" * 90 + "]" * 90, "json"),
        ("9" * 5_000, "text"),
        ("{", "text"),
    ],
)
def test_json_is_a_tree_where_it_shows_all_of_it(text: str, kind: str) -> None:
    assert preview_of(text.encode(), name="a.json", size=len(text)).kind == kind
    if kind == "json":
        shown = preview_of(text.encode(), name="a.json", size=len(text))
        assert shown.value == json.loads(text)


def files(random: Random) -> Iterator[bytes]:
    """Bytes of any kind: noise, beginnings of known kinds with noise behind, text with marks."""
    starts = [*PICTURES.values(), *RUNNABLE, b"\x1f\x8b\x08", b"a,b\n", b"{", b"", b"%PDF-1.7"]
    for start in starts:
        yield start + random.randbytes(random.randrange(300))
        yield start[: random.randrange(len(start) + 1)] + random.randbytes(random.randrange(40))
        text = "".join(random.choice("<>&\"',\n\t\0\u202e\u2028éa=1/") for _ in range(200))
        yield start + text.encode()


@pytest.mark.parametrize("seed", range(20))
def test_any_bytes_have_a_bounded_preview(seed: int) -> None:
    random = Random(seed)
    for raw in files(random):
        for name in NAMES:
            size = len(raw) + random.choice((0, 0, 10_000_000))
            shown = preview_of(raw, name=name, size=size)
            assert shown.kind in {"text", "table", "picture", "json", "none"}
            assert (shown.kind == "none") == bool(shown.why)
            assert "\0" not in shown.text
            shown.text.encode()
            assert len(shown.text) <= TEXT_MAX
            assert len(shown.rows) <= ROWS_MAX

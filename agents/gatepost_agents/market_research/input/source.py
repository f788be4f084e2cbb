"""Opens a table that a person brought and finds out how it is written, by its content alone.

Plain, zip (one table inside) and gzip files; utf-8 with or without mark, utf-16 likewise, cp1252,
latin-1; comma, semicolon, tab or bar. What cannot be read raises UnreadableFile with a sentence.
"""

import codecs
import csv
import gzip
import hashlib
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO

from ...language.encodings import wide_encoding
from .problems import UnreadableFile

NO_TEXT = "This isn’t a text file. Upload a table as CSV or TSV."
DELIMITERS = (",", ";", "\t", "|")
TABLE_ENDINGS = (".csv", ".tsv", ".tab", ".txt")
MAX_BYTES = 1 << 30
BLOCK = 1 << 20
SAMPLE = 1 << 16
# What spreadsheets write above a table to name its separator.
NAMED = re.compile(r'\s*"?sep=([^"\r\n])"?[,;\t| ]*(?:\r\n|\r|\n|\Z)', re.IGNORECASE)
# Bytes that cp1252 leaves undefined: a file that holds one is latin-1 at best.
NOT_CP1252 = frozenset(b"\x81\x8d\x8f\x90\x9d")


@dataclass(frozen=True)
class Survey:
    """The form of a file: `rows` counts data rows (blank lines and the header left out)."""

    encoding: str
    delimiter: str
    header: tuple[str, ...]
    rows: int
    size: int
    sha256: str


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of the table at `path`, unpacked; damage met while reading is an UnreadableFile."""
    with path.open("rb") as raw:
        magic = raw.read(8)
        raw.seek(0)
        try:
            if magic.startswith(b"PK"):
                with zipfile.ZipFile(raw) as packed, packed.open(_only_table(packed)) as inner:
                    yield inner
            elif magic.startswith(b"\x1f\x8b"):
                with io.BufferedReader(gzip.GzipFile(fileobj=raw)) as unpacked:
                    yield unpacked
            elif magic == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
                raise UnreadableFile("This is an Excel file. Save it as CSV and upload that.")
            else:
                yield raw
        except (zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise UnreadableFile("The packed file is damaged. Pack it again.") from error


def _only_table(packed: zipfile.ZipFile) -> str:
    names = packed.namelist()
    if "xl/workbook.xml" in names:
        raise UnreadableFile("This is an Excel file. Save it as CSV and upload that.")
    tables = [
        name
        for name in names
        if name.lower().endswith(TABLE_ENDINGS) and not name.startswith("__MACOSX/")
    ]
    if len(tables) != 1:
        raise UnreadableFile(
            f"The zip file holds {len(tables)} tables; it must hold exactly one .csv, .tsv or .txt."
        )
    if packed.getinfo(tables[0]).flag_bits & 1:
        raise UnreadableFile("The zip file is locked with a password. Pack it without one.")
    return tables[0]


def survey(path: Path) -> Survey:
    """Read the whole file once, cheaply, and say how it is written and how many rows it holds."""
    digest, size, newlines, plain = hashlib.sha256(), 0, 0, True
    utf8, wide, high = codecs.getincrementaldecoder("utf-8")(), "", set[int]()
    # The empty line before the first lets a blank first line be seen as two line ends in a row.
    is_utf8, last = True, b"\n"
    with opened(path) as stream:
        while block := stream.read(BLOCK):
            if not size:
                wide = wide_encoding(block)
            size += len(block)
            if size > MAX_BYTES:
                raise UnreadableFile(f"The table is larger than {MAX_BYTES >> 20:,} MB unpacked.")
            if not wide and b"\0" in block:
                raise UnreadableFile(NO_TEXT)
            digest.update(block)
            newlines += block.count(b"\n")
            seam = last[-3:] + block.removeprefix(codecs.BOM_UTF8)
            # Quotes, lone carriage returns and blank lines make lines and rows two things.
            plain = plain and not (
                b'"' in block or b"\n\n" in seam or b"\n\r" in seam or _lone_cr(seam)
            )
            if is_utf8:
                try:
                    utf8.decode(block)
                except UnicodeDecodeError:
                    is_utf8 = False
            high.update(byte for byte in range(0x80, 0xA0) if bytes((byte,)) in block)
            last = block
    if is_utf8:
        try:
            utf8.decode(b"", final=True)
        except UnicodeDecodeError:
            is_utf8 = False
    encoding = wide or ("utf-8-sig" if is_utf8 else _eight_bit(high))
    return _counted(path, encoding, size, digest.hexdigest(), newlines, last, plain and not wide)


def _lone_cr(seam: bytes) -> bool:
    return seam.count(b"\r") - seam.endswith(b"\r") != seam.count(b"\r\n")


def _eight_bit(high: set[int]) -> str:
    return "cp1252" if high and not high & NOT_CP1252 else "latin-1"


def _counted(
    path: Path, encoding: str, size: int, sha256: str, newlines: int, last: bytes, plain: bool
) -> Survey:
    with text_of(path, encoding) as text:
        try:
            sample = text.read(SAMPLE)
        except UnicodeDecodeError:
            raise UnreadableFile(NO_TEXT) from None
    named = NAMED.match(sample)
    delimiter = named[1] if named else sniff(sample)
    header = next(records(path, encoding, delimiter), None)
    if header is None:
        raise UnreadableFile("The file is empty. Upload a table with a header and rows.")
    if plain:
        rows = newlines - 1 + (not last.endswith(b"\n")) - bool(named)
    else:
        rows = sum(1 for _ in records(path, encoding, delimiter)) - 1
    if rows < 1:
        raise UnreadableFile("The file has a header but no rows.")
    return Survey(encoding, delimiter, tuple(header), rows, size, sha256)


@contextmanager
def text_of(path: Path, encoding: str) -> Iterator[io.TextIOWrapper]:
    """The table at `path` as text, line ends as written."""
    with opened(path) as stream, io.TextIOWrapper(stream, encoding=encoding, newline="") as text:
        yield text


def records(path: Path, encoding: str, delimiter: str) -> Iterator[list[str]]:
    """The rows of the table, header first; blank lines are left out, and a line that names the
    separator.
    """
    with text_of(path, encoding) as text:
        first = text.readline()
        above = 1 if NAMED.fullmatch(first) else 0
        lines = text if above else chain([first], text)
        reader = csv.reader(lines, delimiter=delimiter)
        try:
            yield from filter(None, reader)
        except (csv.Error, UnicodeDecodeError) as error:
            line = reader.line_num + 1 + above
            if "field limit" in str(error):
                raise UnreadableFile(
                    f"A cell near line {line - 1:,} has more than {csv.field_size_limit():,} "
                    "characters. Shorten it, or close its quote if the cell ends earlier."
                ) from error
            raise UnreadableFile(
                f"The table cannot be read near line {line:,} ({error}). "
                "Look for a quote that is never closed."
            ) from error


def sniff(sample: str) -> str:
    """The delimiter that splits the first rows into the most columns that are equally many."""
    best, best_score = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        try:
            rows = list(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter))
        except csv.Error:
            continue
        # The last row of a sample may be cut off in the middle.
        widths = [len(row) for row in (rows[:-1] or rows) if row][:100]
        if not widths or widths[0] < 2:
            continue
        score = (sum(width == widths[0] for width in widths) / len(widths), widths[0])
        if score > best_score:
            best, best_score = delimiter, score
    return best

"""Reads a CSV file that a person brought: encoding, separator and columns are found out."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..language.encodings import wide_encoding
from .problems import MissingColumn, UnreadableFile, UnusableSetting, quoted

BYTES_MAX = 50 << 20
LINES_MAX = 200_000
SEPARATORS = (",", ";", "\t", "|")
SAMPLE = 1 << 16  # characters by which the separator is chosen
# What spreadsheets write above a table to name its separator.
NAMED = re.compile(r'\s*"?sep=([^"\r\n])"?[,;\t| ]*(?:\r\n|\r|\n|\Z)', re.IGNORECASE)


@dataclass(frozen=True)
class Field:
    """A required or optional column of a file: its name here, and other names for it."""

    name: str
    others: tuple[str, ...]
    optional: bool = False


@dataclass(frozen=True)
class Table:
    """A file as text: `rows` are (number of the line in the file, cells)."""

    name: str
    header: list[str]
    rows: list[tuple[int, list[str]]]
    sha256: str
    encoding: str
    separator: str

    def records(self, places: Mapping[str, int]) -> Iterator[tuple[int, dict[str, str]]]:
        """(line, {field: trimmed cell}); a cell that is not there is empty."""
        for line, cells in self.rows:
            yield (
                line,
                {
                    field: cells[at].strip() if at < len(cells) else ""
                    for field, at in places.items()
                },
            )


def read(path: Path, name: str) -> Table:
    """The table at `path`; `name` is what people call it. Raises UnreadableFile."""
    if path.stat().st_size > BYTES_MAX:
        raise UnreadableFile(f"{quoted(name)} is larger than {BYTES_MAX >> 20} MB; split it.")
    raw = path.read_bytes()
    if raw.startswith((b"PK", b"\xd0\xcf\x11\xe0")):
        raise UnreadableFile(f"{quoted(name)} is an Excel or zip file; upload it as CSV.")
    encoding = _encoding(raw)
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        raise UnreadableFile(f"{quoted(name)} isn't a text file; upload a table as CSV.") from None
    if "\0" in text:
        raise UnreadableFile(f"{quoted(name)} isn't a text file; upload a table as CSV.")
    named = NAMED.match(text)
    separator = named[1] if named else _separator(text)
    # The line that names the separator is none of the table; it still counts as a line of the file.
    lines = io.StringIO(text[named.end() :] if named else text, newline="")
    above = 1 if named else 0
    reader = csv.reader(lines, delimiter=separator, strict=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append((reader.line_num + above, cells))
            if len(rows) > LINES_MAX:
                raise UnreadableFile(f"{quoted(name)} has more than {LINES_MAX:,} lines; split it.")
    except csv.Error as error:
        line = reader.line_num + above
        if "field limit" in str(error):
            raise UnreadableFile(
                f"{quoted(name)} has a cell of more than {csv.field_size_limit():,} characters "
                f"near line {line:,}. Shorten it, or close its quote if the cell ends earlier."
            ) from error
        raise UnreadableFile(
            f"{quoted(name)} cannot be read near line {line:,} ({error}); look for a "
            "quote that is never closed."
        ) from error
    if len(rows) < 2:
        raise UnreadableFile(f"{quoted(name)} needs a header and at least one line below it.")
    header = [" ".join(cell.split()) for cell in rows[0][1]]
    digest = hashlib.sha256(raw).hexdigest()
    return Table(name, header, rows[1:], digest, encoding, separator)


def _encoding(raw: bytes) -> str:
    if wide := wide_encoding(raw):
        return wide
    try:
        raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "latin-1" if re.search(rb"[\x81\x8d\x8f\x90\x9d]", raw) else "cp1252"
    return "utf-8-sig"


def _separator(text: str) -> str:
    """The one by which most of the first lines have as many cells as the header, of several the
    one with the most cells; a comma where none parts the header.
    """
    best, best_score = SEPARATORS[0], (0.0, 0)
    for separator in SEPARATORS:
        reader = csv.reader(io.StringIO(text[:SAMPLE], newline=""), delimiter=separator)
        widths = []
        try:
            for cells in reader:
                if any(cell.strip() for cell in cells):
                    widths.append(len(cells))
        except csv.Error:  # the sample may end within a cell
            pass
        if not widths or widths[0] < 2:
            continue
        score = (sum(width == widths[0] for width in widths) / len(widths), widths[0])
        if score > best_score:
            best, best_score = separator, score
    return best


def columns(
    table: Table, fields: Sequence[Field], named: Mapping[str, str], prefix: str = ""
) -> dict[str, int]:
    """{field: place in the row}: as `named` says ({prefix + field: column}), or else by its name.

    Raises MissingColumn for a field without a column or with several that could be meant, and
    UnusableSetting where `named` knows something that does not exist.
    """
    known = {prefix + field.name for field in fields}
    for setting in named:
        if setting.rpartition(".")[0] + "." * ("." in setting) == prefix and setting not in known:
            raise UnusableSetting(
                f"`columns` names {quoted(setting)}; what can be named is "
                f"{', '.join(sorted(known))}."
            )
    alike: dict[str, list[int]] = {}
    for at, title in enumerate(table.header):
        alike.setdefault(_folded(title), []).append(at)
    places: dict[str, int] = {}
    for field in fields:
        setting = prefix + field.name
        if setting in named:
            result = alike.get(_folded(named[setting]), [])
            why = f"has no column {quoted(named[setting])}, which `columns` names for"
        else:
            result = alike.get(_folded(field.name), [])
            if not result:
                others = dict.fromkeys(map(_folded, field.others))
                result = [at for other in others for at in alike.get(other, [])]
            why = "has no column for"
        if len(result) > 1:
            titles = " and ".join(quoted(table.header[at]) for at in result)
            why = f"has several columns ({titles}) for"
        if len(result) == 1:
            places[field.name] = result[0]
        elif result or setting in named or not field.optional:
            free = [at for at in range(len(table.header)) if at not in places.values()]
            near = _near(field, [table.header[at] for at in result or free])
            what = f"the {field.name}"
            raise MissingColumn(table.name, what, setting, why, table.header, near)
    return places


def _near(field: Field, titles: Sequence[str]) -> str:
    """The title that says the field's name among other words; "" where none or several do."""
    names = [_folded(name) for name in (field.name, *field.others)]
    fits = [title for title in titles if any(name in _folded(title) for name in names)]
    return fits[0] if len(fits) == 1 else ""


def _folded(title: str) -> str:
    """A title without case, signs and blanks: "Invoice No." is "invoiceno"."""
    return re.sub(r"[\W_]+", "", title.casefold())

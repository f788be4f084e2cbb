"""First step: reads a built-in data set or an uploaded file, row by row, into a plain table."""

from collections.abc import Callable, Iterator, Sequence
from itertools import batched
from pathlib import Path
from typing import Any

from .input.datasets import BUILTIN, dataset_path, value_labels
from .input.problems import UnreadableFile
from .input.source import Survey, records, survey
from .input.tables import table_writer

type OnProgress = Callable[[int, int | None, str], None]

MAX_COLUMNS = 1_000
NAME_LENGTH = 120
# Small enough for 20 news from 10,000 rows on, large enough to cost nothing.
NEWS = 25
MAX_CHUNK = 10_000
EXAMPLES = 3


def load(
    source: str | Path,
    *,
    out_path: Path,
    on_progress: OnProgress | None = None,
    name: str = "",
) -> dict[str, Any]:
    """Read `source` (a Path, or the name of a built-in data set) into a table at `out_path`.

    Every data row becomes one row there, so that row numbers stay those of the file. `name` is what
    people call the file. Answers the profile:
    {"source": {"name", "title", "citation", "builtin", "sha256", "bytes", "encoding", "delimiter"},
     "rows": int, "columns": [{"name", "examples": [str]}], "labels": {column: text},
     "units": {column: text}, "value_labels": {column: {value: text}},
     "odd": [{"what", "count", "why"}]}.
    `on_progress(done, total, text)` comes after each chunk; the last has done = total = true rows.
    Raises UnreadableFile.
    """
    path = source if isinstance(source, Path) else dataset_path(source)
    builtin = BUILTIN.get(source) if isinstance(source, str) else None
    result = survey(path)
    columns = column_names(result.header)
    counted = _Rows(columns)
    with table_writer(out_path, columns) as writer:
        for chunk in _chunks(path, result, counted):
            writer.write(chunk)
            if on_progress is not None:
                on_progress(counted.done, max(result.rows, counted.done), _news(counted, result))
    called = name or (str(source) if builtin else path.name)
    return {
        "source": {
            "name": called,
            "title": builtin.title if builtin else called,
            "citation": builtin.citation if builtin else called,
            "builtin": builtin is not None,
            "sha256": result.sha256,
            "bytes": result.size,
            "encoding": "utf-8" if result.encoding == "utf-8-sig" else result.encoding,
            "delimiter": result.delimiter,
        },
        "rows": counted.done,
        "columns": [
            {"name": column, "examples": counted.examples[index]}
            for index, column in enumerate(columns)
        ],
        "labels": dict(builtin.labels) if builtin else {},
        "units": dict(builtin.units) if builtin else {},
        "value_labels": value_labels(str(source)) if builtin else {},
        "odd": counted.odd(),
    }


class _Rows:
    """Fits rows to the header and remembers what was odd about them."""

    def __init__(self, columns: list[str]) -> None:
        self.width = len(columns)
        self.done = self.short = self.long = self.first_long = 0
        self.examples: list[list[str]] = [[] for _ in columns]

    def fitted(self, chunk: Sequence[list[str]]) -> Sequence[list[str]]:
        """The rows with as many cells as the header; one with too many values becomes empty."""
        if set(map(len, chunk)) == {self.width}:
            self.done += len(chunk)
            return chunk
        return [self._fit(row) for row in chunk]

    def _fit(self, row: list[str]) -> list[str]:
        self.done += 1
        width = len(row)
        if width == self.width:
            return row
        if width < self.width:
            self.short += 1
            return row + [""] * (self.width - width)
        if not any(cell.strip() for cell in row[self.width :]):
            return row[: self.width]
        # Which of its cells belongs to which column cannot be known, so none is believed.
        self.long += 1
        self.first_long = self.first_long or self.done
        return [""] * self.width

    def look(self, chunk: Sequence[list[str]]) -> None:
        """Keep the first few different values of each column, to show."""
        for index, saved in enumerate(self.examples):
            for row in chunk[:50]:
                cell = row[index].strip()[:40]
                if len(saved) >= EXAMPLES:
                    break
                if cell and cell not in saved:
                    saved.append(cell)

    def odd(self) -> list[dict[str, Any]]:
        """List the rows that did not fit the header: [{"what", "count", "why"}]."""
        results = []
        if self.short:
            why = "the fields that are not there count as gaps"
            results.append(
                {"what": "rows with fewer fields than the header", "count": self.short, "why": why}
            )
        if self.long:
            why = (
                "which value belongs to which column cannot be known, so they count as rows "
                f"without any value (the first is row `{self.first_long}`)"
            )
            results.append(
                {"what": "rows with more fields than the header", "count": self.long, "why": why}
            )
        return results


def _chunks(path: Path, survey: Survey, rows: _Rows) -> Iterator[Sequence[list[str]]]:
    size = max(1, min(MAX_CHUNK, survey.rows // NEWS))
    lines = records(path, survey.encoding, survey.delimiter)
    next(lines)
    for chunk in batched(lines, size):
        fitted = rows.fitted(chunk)
        rows.look(fitted)
        yield fitted


def _news(rows: _Rows, survey: Survey) -> str:
    return f"{rows.done:,} of {max(survey.rows, rows.done):,} rows read"


def column_names(header: tuple[str, ...]) -> list[str]:
    """Names that are printable, not empty and all different; UnreadableFile without a header."""
    if len(header) > MAX_COLUMNS:
        raise UnreadableFile(
            f"The table has {len(header):,} columns; this agent reads up to {MAX_COLUMNS:,}."
        )
    if all(_is_number(cell) for cell in header):
        raise UnreadableFile("The first row must name the columns, but it holds only numbers.")
    names: list[str] = []
    for index, cell in enumerate(header, start=1):
        plain = " ".join("".join(c if c.isprintable() else " " for c in cell).split())
        base = plain[:NAME_LENGTH] or f"column {index}"
        name, again = base, 2
        while name in names:
            name, again = f"{base} ({again})", again + 1
        names.append(name)
    return names


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True

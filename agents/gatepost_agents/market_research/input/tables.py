"""Tables on their way between two steps: CSV in utf-8, gzipped, the same bytes for the same rows.

Everything is text, so that a person can open the file and nothing is rounded between steps.
"""

import csv
import gzip
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import batched
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

type Codes = npt.NDArray[np.int32]

# What counts as "no value" in any column, after trimming; in lower case.
GAPS = frozenset({"", "na", "n/a", "#n/a", "nan", "null"})


@dataclass(frozen=True)
class Coded:
    """One column: row i holds `values[codes[i]]`."""

    values: list[str]
    codes: Codes

    def texts(self, rows: npt.NDArray[Any]) -> list[str]:
        """The text of the rows that `rows` (indexes or a mask) picks."""
        picked: list[str] = np.asarray(self.values, dtype=object)[self.codes[rows]].tolist()
        return picked


class _Parts:
    """A target for a csv writer: a list, which costs less per line than a file."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.write = self.lines.append


class TableWriter:
    """Writes rows to a table; got from `table_writer`."""

    def __init__(self, packed: gzip.GzipFile) -> None:
        self._packed, self._parts = packed, _Parts()
        self._csv = csv.writer(self._parts, lineterminator="\n")

    def write(self, rows: Iterable[Sequence[str]]) -> None:
        """Append `rows`."""
        for some in batched(rows, 10_000):
            self._csv.writerows(some)
            self._packed.write("".join(self._parts.lines).encode())
            self._parts.lines.clear()


@contextmanager
def table_writer(path: Path, header: Sequence[str]) -> Iterator[TableWriter]:
    """A writer for a new table at `path`, which appears there only when all rows are written."""
    part = path.with_name(path.name + ".part")
    try:
        with (
            part.open("wb") as raw,
            # No time and no name inside: equal rows give equal bytes, hence one artifact.
            gzip.GzipFile("", mode="wb", compresslevel=1, fileobj=raw, mtime=0) as packed,
        ):
            writer = TableWriter(packed)
            writer.write([header])
            yield writer
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def table_header(path: Path) -> list[str]:
    """The column names of a table that `table_writer` wrote."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as text:
        return next(csv.reader(text))


def read_columns(path: Path, names: Iterable[str] | None = None) -> dict[str, Coded]:
    """The columns `names` (None: all) of a table that `table_writer` wrote, in its order."""
    header = table_header(path)
    wanted = set(header if names is None else names)
    import pandas as pd  # 40 MB that a worker without such a thread need not have

    frame = pd.read_csv(
        path,
        compression="gzip",
        usecols=[index for index, name in enumerate(header) if name in wanted],
        dtype="category",
        na_filter=False,
        skip_blank_lines=False,
        encoding="utf-8",
    )
    columns = {}
    for index, name in enumerate(name for name in header if name in wanted):
        category = frame.iloc[:, index].cat
        columns[name] = Coded(
            [str(value) for value in category.categories],
            np.asarray(category.codes, dtype=np.int32),
        )
    return columns


def is_gap(text: str) -> bool:
    """Answer True if a cell holds no value."""
    return text.strip().lower() in GAPS

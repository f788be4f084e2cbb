"""Second step: tells what each column holds and leaves out, with reasons, what says nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .figures.choose import asked_for, choose_measure
from .figures.rounding import percent
from .input.kinds import NEARLY, SLIPS, Kind, kind_of
from .input.problems import BrokenColumn, NothingLeft, UnusableSetting, quoted
from .input.settings import Settings
from .input.tables import Coded, read_columns, table_writer

type Mask = npt.NDArray[np.bool_]


def clean(table_path: Path, *, settings: Mapping[str, Any], out_path: Path) -> dict[str, Any]:
    """Clean the table at `table_path` (as `load` wrote it) into one at `out_path`.

    Left out, in this order: rows without any value, exact duplicate rows (the first stays), rows
    without the measure; columns to be ignored, empty columns, columns of one value. Answers
    {"rows_in", "rows_out", "measure": {"name", "how"},
     "columns": [{"name", "kind", "missing", "missing_percent", "distinct", "whole", "low", "high",
                  "unit"}] (missing and distinct over rows_in; low and high of numbers, else None),
     "constants": {column: value}, "dropped": [{"of": "rows|columns|values", "what", "count",
     "why"}], "notes": [sentence]}.
    Raises BrokenColumn, UnknownColumn, UnusableSetting, NothingLeft.
    """
    raw = read_columns(table_path)
    wish = Settings.read(settings).fitted(raw)
    work = _Cleaning(raw, wish)
    work.drop_columns()
    measure = work.choose_measure()
    keep = work.rows_to_keep(measure["name"])
    if not keep.any():
        raise NothingLeft(
            f"No row is left to analyse: every row lacks {quoted(measure['name'])}. "
            "Name another column in `measure`."
        )
    texts = {name: Coded(work.kinds[name].texts, raw[name].codes) for name in work.kept()}
    rows = zip(*(column.texts(keep) for column in texts.values()), strict=True)
    with table_writer(out_path, list(texts)) as writer:
        writer.write(rows)
    return {
        "rows_in": work.rows,
        "rows_out": int(keep.sum()),
        "measure": measure,
        "columns": work.columns,
        "constants": work.constants,
        "dropped": work.dropped,
        "notes": work.notes,
    }


class _Cleaning:
    """The table while it is looked at: kinds by column, and what was left out so far."""

    def __init__(self, raw: dict[str, Coded], wish: Settings) -> None:
        self.raw, self.wish = raw, wish
        self.rows = len(next(iter(raw.values())).codes)
        self.kinds: dict[str, Kind] = {}
        self.columns: list[dict[str, Any]] = []
        self.constants: dict[str, str] = {}
        self.dropped: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.nearly: list[str] = []

    def drop(self, of: str, what: str, count: int, why: str) -> None:
        """Note what was left out; nothing is noted when it is nothing."""
        if count:
            self.dropped.append({"of": of, "what": what, "count": int(count), "why": why})

    def drop_columns(self) -> None:
        """Tell the kinds of all columns and sort out those that say nothing."""
        must = self.wish.numbers()
        for name, column in self.raw.items():
            if name in self.wish.ignore:
                self.drop("columns", f"column {quoted(name)}", 1, "it is named in `ignore`")
                continue
            counts = np.bincount(column.codes, minlength=len(column.values)).tolist()
            declared = "number" if name in must else self.wish.columns.get(name, "")
            kind = kind_of(name, column.values, counts, declared)
            if name in must:
                self._judge(name, must[name])
            self.kinds[name] = kind
            self._sort(name, kind, counts)

    def choose_measure(self) -> dict[str, str]:
        """The measure, unless the column that is meant holds too much text to be one."""
        request = self.wish.question if not self.wish.measure else ""
        numbers = [column["name"] for column in self.columns if column["kind"] == "number"]
        heard = max((asked_for(name, request) for name in numbers), default=0.0)
        for name in self.nearly:
            if not numbers or asked_for(name, request) > heard:
                self._judge(name, ("question",) if numbers else ())
        return choose_measure(self.columns, self.wish)

    def _judge(self, name: str, settings: tuple[str, ...]) -> None:
        """Raise BrokenColumn for a column that must hold numbers and does not."""
        column = self.raw[name]
        counts = np.bincount(column.codes, minlength=len(column.values)).tolist()
        kind = kind_of(name, column.values, counts, "number")
        filled = sum(c for c, text in zip(counts, kind.texts, strict=True) if text)
        bad = sum(counts[i] for i in kind.bad)
        if bad and bad > SLIPS * (filled + bad):
            first = int(np.flatnonzero(np.isin(column.codes, list(kind.bad)))[0])
            value = column.values[column.codes[first]].strip()
            raise BrokenColumn(name, first + 1, value, bad / (filled + bad), settings)

    def _sort(self, name: str, kind: Kind, counts: list[int]) -> None:
        """Keep the column or say why not; a named measure that says nothing is an error."""
        used = [i for i, text in enumerate(kind.texts) if text and counts[i]]
        different = {kind.texts[i] for i in used}
        missing = self.rows - sum(counts[i] for i in used)
        why = "it is empty" if not different else ""
        if len(different) == 1 and self.rows > 1:
            value = different.pop()
            self.constants[name] = value[:200]
            why = f"it holds the same value ({quoted(value)}) in every row that has one"
            different = {value}
        if why and name == self.wish.measure:
            raise UnusableSetting(
                f"`measure` names the column {quoted(name)}, but {why}. Name another column."
            )
        if why:
            self.drop("columns", f"column {quoted(name)}", 1, why)
            return
        if kind.bad:
            count = sum(counts[i] for i in kind.bad)
            noun = "date" if kind.kind == "date" else "number"
            example = quoted(self.raw[name].values[min(kind.bad)])
            why = f"they are no {noun} (for example {example}) and count as gaps"
            self.drop("values", f"values in {quoted(name)}", count, why)
        if kind.nearly >= NEARLY:
            self.nearly.append(name)
            self.notes.append(
                f"{quoted(name)} holds numbers in most rows but other text in too many, so it is "
                "not used as a number."
            )
        if kind.note:
            self.notes.append(f"In {quoted(name)}, {kind.note}.")
        numbers = [float(text) for text in different] if kind.kind == "number" else []
        self.columns.append(
            {
                "name": name,
                "kind": kind.kind,
                "missing": missing,
                "missing_percent": percent(missing, self.rows),
                "distinct": len(different),
                "whole": kind.whole and kind.kind == "number",
                "low": min(numbers, default=None),
                "high": max(numbers, default=None),
                "unit": kind.unit,
            }
        )

    def kept(self) -> list[str]:
        """The columns that stay."""
        return [column["name"] for column in self.columns]

    def rows_to_keep(self, measure: str) -> Mask:
        """The rows that stay, as a mask; what goes is noted."""
        import pandas as pd  # as in `read_columns`

        empty = np.ones(self.rows, dtype=bool)
        for column in self.raw.values():
            blank = np.array([not value.strip() for value in column.values])
            empty &= blank[column.codes]
        self.drop("rows", "rows without any value", int(empty.sum()), "there is nothing to analyse")
        codes = pd.DataFrame({i: column.codes for i, column in enumerate(self.raw.values())})
        twice: Mask = codes.duplicated().to_numpy() & ~empty
        self.drop(
            "rows",
            "exact duplicate rows",
            int(twice.sum()),
            "each row counts once; the first stays",
        )
        filled = np.array([bool(text) for text in self.kinds[measure].texts])
        lacking = ~filled[self.raw[measure].codes] & ~empty & ~twice
        self.drop(
            "rows",
            f"rows without {quoted(measure)}",
            int(lacking.sum()),
            "the measure is not there",
        )
        keep: Mask = ~(empty | twice | lacking)
        return keep

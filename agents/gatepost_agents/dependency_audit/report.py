"""The report on all packages as Markdown, and their table as CSV."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..published.markdown import escaped
from .findings import LEVELS

SHOWN = 300
COLUMNS = ("name", "version", "licence", "kind", "years", "files", "level", "findings")


def counted(number: int, what: str) -> str:
    """A number of things, such as "1 package" and "1,200 packages"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def title_of(source: str, number: int) -> str:
    """Such as "Audit of uv.lock: 142 packages"."""
    return f"Audit of {source}: {counted(number, 'package')}"


def not_read(unread: Sequence[str]) -> str:
    """The end of a sentence that names the first lines which were not read; "" where all were."""
    if not unread:
        return ""
    more = f" and {len(unread) - 3:,} more" if len(unread) > 3 else ""
    verb = "was" if len(unread) == 1 else "were"
    return f"; {counted(len(unread), 'line')} {verb} not read ({'; '.join(unread[:3])}{more})"


def report(
    *,
    source: str,
    rows: Sequence[Mapping[str, Any]],
    findings: Sequence[Mapping[str, Any]],
    failures: Sequence[Mapping[str, Any]],
    unread: Sequence[str],
    summary: str,
    refused: Sequence[str],
    years: float,
) -> str:
    """The Markdown text; `summary` is a model's, empty where none was asked."""
    levels = Counter(finding["level"] for finding in findings)
    counts = ", ".join(f"{levels[level]:,} {level}" for level in LEVELS)
    absent = sum(not row["installed"] for row in rows)
    parts = [
        f"# {escaped(title_of(source, len(rows)))}",
        f"{counted(len(findings), 'finding')}: {counts}. "
        f"{counted(sum(not row['findings'] for row in rows), 'package')} without any. "
        f"{len(failures):,} failed{not_read(unread)}.",
    ]
    if summary.strip():
        lines = [escaped(line) for line in summary.split("\n\n") if line.strip()]
        parts += ["## What to look at first", *lines, "*Written by a model from the findings.*"]
    for level in LEVELS:
        results = [finding for finding in findings if finding["level"] == level]
        if results:
            parts += [f"## {level.capitalize()}", _findings(results)]
    parts += ["## Licences", _licences(rows)]
    if failures:
        lines = [f"- {escaped(_named(f))}: {escaped(f['reason'])}" for f in failures[:SHOWN]]
        parts += ["## Could not be audited", "\n".join(lines)]
    if unread:
        more = [f"- … and {len(unread) - SHOWN:,} more"] if len(unread) > SHOWN else []
        lines = [*(f"- {escaped(line)}" for line in unread[:SHOWN]), *more]
        parts += ["## Not read", "Whatever these lines name was not audited.", "\n".join(lines)]
    parts += ["## Method", _method(absent, refused, years, by_model=bool(summary.strip()))]
    return "\n\n".join(parts) + "\n"


def _findings(findings: Sequence[Mapping[str, Any]]) -> str:
    rows = ((f["package"], f["version"], f["what"], f["why"]) for f in findings[:SHOWN])
    table = _table(("Package", "Version", "Finding", "Why"), rows)
    more = len(findings) - SHOWN
    return f"{table}\n\n… and {more:,} more; packages.csv has them all." if more > 0 else table


def _licences(rows: Sequence[Mapping[str, Any]]) -> str:
    kinds: dict[str, list[str]] = {}
    for row in rows:
        kinds.setdefault(row["kind"] or "not looked at", []).append(row["name"])
    cells = []
    for kind, names in sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0])):
        few = len(names) <= 12
        cells.append((kind, f"{len(names):,}", ", ".join(names) if few else ""))
    return _table(("Kind", "Packages", "Which"), cells)


def _method(absent: int, refused: Sequence[str], years: float, *, by_model: bool) -> str:
    lines = [
        "- Licence, age and warnings are read from each package's own metadata; its files are "
        "held against its RECORD. Nothing was asked on the network, so vulnerabilities that are "
        "known elsewhere are not looked for.",
        "- Age is that of the newest sign of life in the metadata; a package may be younger than "
        f"its signs. Old means more than {years:g} years.",
        f"- Refused licences: {', '.join(refused) or 'none'}. Of a choice the mildest counts.",
    ]
    if absent:
        verb = "is" if absent == 1 else "are"
        lines.append(
            f"- {counted(absent, 'package')} {verb} not installed on the worker in this version: "
            f"only name and version were looked at."
        )
    if not by_model:
        lines.append("- No model was asked: nothing here is worded by one.")
    return "\n".join(lines)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(escaped, row))} |" for row in rows)])


def table_of(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """The packages as CSV; a cell that a spreadsheet would work out is text."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in COLUMNS])
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return "" if value is None else value


def _named(failure: Mapping[str, Any]) -> str:
    """A package that failed, with its version where the list has one."""
    return f"{failure['package']} {failure.get('version', '')}".rstrip()

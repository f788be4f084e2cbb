"""docs/requirements.md as data: the promises, and how those of finished stages are proved."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs" / "requirements.md"
KINDS = ("must", "measure", "should")
STAGES = range(1, 15)
BEYOND = 13  # a stage that is listed and not asked for


@dataclass(frozen=True, slots=True)
class Row:
    """One promise; `places` are test files or folders, `benchmark` a row of the budget.

    `stage_name` is the cell of the table, such as "4 durability". `commands` are targets of make
    that print JSON lines named after the row. A row without `how` is not built yet.
    """

    id: str
    kind: str
    stage: int
    stage_name: str
    text: str
    how: str
    places: tuple[str, ...]
    benchmark: int | None
    commands: tuple[str, ...] = ()

    @property
    def is_built(self) -> bool:
        return bool(self.how)

    @property
    def is_needed(self) -> bool:
        """Whether its stage is unproved without it: a `should` row counts once it is built."""
        return self.kind != "should" or self.is_built


def _cells(text: str, heading: str, columns: int) -> list[list[str]]:
    part = text.partition(f"\n## {heading}")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if re.match(r"\| [A-Z]\d\d \|", line)]
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    for row in rows:
        if len(row) != columns:
            raise ValueError(f"{row[0]}: {len(row)} cells instead of {columns}")
    return rows


def read(path: Path = DOCS) -> dict[str, Row]:
    """All rows by id; ValueError for a table that is not in form."""
    text = path.read_text()
    proofs: dict[str, tuple[int, str, str]] = {}
    for heading, number in re.findall(r"\n## (Stage (\d+):)", text):
        for ident, how, where, _breaks in _cells(text, heading, 4):
            if ident in proofs or not how:
                raise ValueError(f"{ident}: its proof stands twice, or is empty")
            proofs[ident] = (int(number), how, where)
    rows: dict[str, Row] = {}
    for ident, _area, kind, stage, promise in _cells(text, "All rows", 5):
        if ident in rows or kind not in KINDS:
            raise ValueError(f"{ident}: stands twice, or {kind} is not a kind")
        number = int(stage.split()[0])
        proved_in, how, where = proofs.pop(ident, (number, "", ""))
        if number not in STAGES or proved_in != number:
            raise ValueError(f"{ident}: is of stage {number}, its proof stands in {proved_in}")
        measured = re.search(r"benchmark row (\d+)", where)
        rows[ident] = Row(
            id=ident,
            kind=kind,
            stage=number,
            stage_name=stage,
            text=promise,
            how=how,
            places=tuple(p for p in re.findall(r"`([^`]+)`", where) if not p.startswith("make ")),
            benchmark=int(measured[1]) if measured else None,
            commands=tuple(re.findall(r"command `make ([a-z-]+)`", where)),
        )
    if proofs:
        raise ValueError(f"proofs of unknown rows: {', '.join(proofs)}")
    return rows


def not_built(path: Path = DOCS) -> dict[int, list[str]]:
    """{stage: the ids that the page lists as not built yet}."""
    part = path.read_text().partition("\n## Not built yet")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| (\d+)[^|]*\| ([A-Z]\d\d[^|]*) \|$", part, re.MULTILINE)
    return {int(stage): re.findall(r"\b[A-Z]\d\d\b", rows) for stage, rows in lines}


def digest(rows: Iterable[Row]) -> str:
    """SHA-256 over id, kind, stage and text of all rows in order, as one JSON array of arrays."""
    content = [[row.id, row.kind, row.stage_name, row.text] for row in rows]
    return sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()

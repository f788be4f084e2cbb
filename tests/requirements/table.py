"""docs/requirements.md as data: the promises, and how those of finished stages are proved."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "requirements.md"
KINDS = ("must", "measure", "should")


@dataclass(frozen=True, slots=True)
class Row:
    """One promise; `places` are test files or folders, `benchmark` a row of the budget.

    `commands` are targets of make that print JSON lines named after the row.
    """

    id: str
    kind: str
    stage: int
    text: str
    how: str
    places: tuple[str, ...]
    benchmark: int | None
    commands: tuple[str, ...] = ()


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
    proofs: dict[str, tuple[str, str]] = {}
    for heading in re.findall(r"\n## (Stage \d+)", text):
        for ident, how, where, _breaks in _cells(text, heading, 4):
            if ident in proofs:
                raise ValueError(f"{ident}: its proof stands twice")
            proofs[ident] = (how, where)
    rows: dict[str, Row] = {}
    for ident, _area, kind, stage, promise in _cells(text, "All rows", 5):
        if ident in rows or kind not in KINDS:
            raise ValueError(f"{ident}: stands twice, or {kind} is no kind")
        how, where = proofs.pop(ident, ("", ""))
        measured = re.fullmatch(r"benchmark row (\d+)", where)
        rows[ident] = Row(
            id=ident,
            kind=kind,
            stage=int(stage.split()[0]),
            text=promise,
            how=how,
            places=tuple(p for p in re.findall(r"`([^`]+)`", where) if not p.startswith("make ")),
            benchmark=int(measured[1]) if measured else None,
            commands=tuple(re.findall(r"command `make ([a-z-]+)`", where)),
        )
    if proofs:
        raise ValueError(f"proofs of unknown rows: {', '.join(proofs)}")
    return rows

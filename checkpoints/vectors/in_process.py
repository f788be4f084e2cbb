"""Vectors in the memory of this process, searched exactly: each entry is compared.

A number is kept in one byte, with a scale for each row: 100,000 entries of 384 numbers are 38 MB.
Blocks are widened to float32 one after the other, so that they stay in the processor's cache.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

# Two threads over such small blocks wait for each other (ADR 112); read when numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from .stores import IN_PROCESS, Entry, Hit, Search

BLOCK: Final = 8_192
_WIDEST: Final = 127.0
_FIRST_ROWS: Final = 256


class InProcess:
    """A store of this process; what it holds is gone with the process."""

    name = IN_PROCESS

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._matrices: dict[UUID, _Matrix] = {}

    def put(self, entries: Sequence[Entry]) -> None:
        """Add entries, or replace those of the same id; ValueError for another length."""
        by = attrgetter("workspace")
        with self._lock:
            for workspace, some in groupby(sorted(entries, key=by), by):
                group = list(some)
                if workspace not in self._matrices:
                    self._matrices[workspace] = _Matrix(_numbers(group[0].vector).size)
                self._matrices[workspace].put(group)

    def remove(self, workspace: UUID, ids: Iterable[UUID]) -> None:
        """Remove entries; those that are not there are passed over."""
        with self._lock:
            if workspace in self._matrices:
                self._matrices[workspace].remove(ids)

    def search(self, search: Search) -> list[Hit]:
        """The nearest entries, the best first; ValueError for a vector of another length."""
        with self._lock:
            matrix = self._matrices.get(search.workspace)
            return matrix.search(search) if matrix else []

    def revisions(self, workspace: UUID) -> dict[UUID, int]:
        """{memory: revision} of all entries of a workspace."""
        with self._lock:
            matrix = self._matrices.get(workspace)
            return matrix.revisions() if matrix else {}

    def count(self) -> int:
        """Entries of all workspaces."""
        with self._lock:
            return sum(len(matrix.revisions()) for matrix in self._matrices.values())

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            self._matrices.clear()


class _Matrix:
    """The entries of a workspace, a row each; rows of removed ones are used again."""

    def __init__(self, numbers: int) -> None:
        self._numbers = numbers
        self._end = 0
        self._free: list[int] = []
        self._rows: dict[UUID, int] = {}
        self._ids: list[UUID] = []
        self._codes: dict[str, int] = {}  # owners and kinds, as numbers
        self._values = np.zeros((_FIRST_ROWS, numbers), np.int8)
        self._scales = np.zeros(_FIRST_ROWS, np.float32)
        # Revision, owner, kind; an owner of 0 is a row without an entry.
        self._facts = np.zeros((3, _FIRST_ROWS), np.int32)

    def put(self, entries: Sequence[Entry]) -> None:
        vectors = [_numbers(entry.vector) for entry in entries]
        if any(vector.size != self._numbers for vector in vectors):
            raise ValueError(f"a vector has another length than {self._numbers:,}")
        values = np.stack(vectors)
        scales = np.abs(values).max(axis=1) / _WIDEST
        scales[scales == 0] = 1
        rows = [self._row(entry.id) for entry in entries]
        self._values[rows] = np.rint(values / scales[:, None])
        self._scales[rows] = scales
        for row, entry in zip(rows, entries, strict=True):
            self._facts[:, row] = (entry.revision, self._code(entry.owner), self._code(entry.kind))

    def remove(self, ids: Iterable[UUID]) -> None:
        for ident in ids:
            if (row := self._rows.pop(ident, None)) is not None:
                self._values[row] = 0
                self._facts[:, row] = 0
                self._free.append(row)

    def search(self, search: Search) -> list[Hit]:
        query = _numbers(search.vector)
        if query.size != self._numbers:
            raise ValueError(f"the vector has another length than {self._numbers:,}")
        rows = np.flatnonzero(self._chosen(search))
        if not rows.size:
            return []
        scores = np.empty(rows.size, np.float32)
        whole = rows.size == self._end  # without copies of its rows
        for start in range(0, rows.size, BLOCK):
            part: Any = slice(start, min(start + BLOCK, rows.size))
            block = self._values[part] if whole else self._values[rows[part]]
            scores[part] = block.astype(np.float32) @ query
        scores *= self._scales[rows]
        k = min(search.k, rows.size)
        best = np.argpartition(-scores, k - 1)[:k]
        order = best[np.argsort(-scores[best], kind="stable")]
        return [self._hit(int(rows[one]), float(scores[one])) for one in order]

    def revisions(self) -> dict[UUID, int]:
        return {ident: int(self._facts[0, row]) for ident, row in self._rows.items()}

    def _hit(self, row: int, score: float) -> Hit:
        return Hit(self._ids[row], int(self._facts[0, row]), score)

    def _chosen(self, search: Search) -> Any:
        _, owners, kinds = self._facts[:, : self._end]
        chosen = owners != 0
        if search.owners is not None:
            chosen &= np.isin(owners, self._known(search.owners))
        if search.kinds is not None:
            chosen &= np.isin(kinds, self._known(search.kinds))
        return chosen

    def _known(self, names: Collection[str]) -> list[int]:
        return [self._codes[name] for name in names if name in self._codes]

    def _code(self, name: str) -> int:
        return self._codes.setdefault(name, len(self._codes) + 1)

    def _row(self, ident: UUID) -> int:
        """The row of an entry, or one that is free for it."""
        if ident in self._rows:
            return self._rows[ident]
        if self._free:
            row = self._free.pop()
            self._ids[row] = ident
        else:
            row = self._end
            if row == len(self._scales):
                self._grow()
            self._end += 1
            self._ids.append(ident)
        self._rows[ident] = row
        return row

    def _grow(self) -> None:
        more = len(self._scales)
        self._values = np.concatenate([self._values, np.zeros_like(self._values)])
        self._scales = np.concatenate([self._scales, np.zeros(more, np.float32)])
        self._facts = np.concatenate([self._facts, np.zeros_like(self._facts)], axis=1)


def _numbers(vector: bytes) -> Any:
    return np.frombuffer(vector, "<f4")
